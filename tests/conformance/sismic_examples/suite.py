"""sismic's own test suite on an engine.

    python -m tests.conformance.sismic_examples.suite [rawko|sismic]

The suite of the newest sdist that carries one is older than the installed release: since then, BDD steps quote with
`'` instead of `"`. The features are brought up to that in a copy, and the copy is run in a process of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from tests.conformance.fetch import sismic_folder
from tests.conformance.sismic_examples.engine import ENGINE

MODULES = ("test_bdd", "test_code", "test_contract", "test_examples", "test_interpreter", "test_property")
"""The modules that run an interpreter. Left out: model and I/O, which have none; clock and runner, which time sleeps
(both are tried in `test_examples`, on conditions).
"""
SLEEPS = "test_run_in_background"
MACROSTEP = "a macrostep goes on to stability, so several of sismic's macrosteps are one"
ORDER = "document order, where sismic goes by depth and name"
PREEMPTS = "transitions in conflict preempt each other; sismic raises an error"
DOMAIN = "a region's transition to itself resets its siblings (XState's domain); in sismic only that region"
QUEUES = "reads or fills sismic's private queues"
HISTORY = "a history state is a way to others and never active or entered itself"
CHANGED = "changes the statechart after the interpreter has copied it"
OLD = "a form that sismic itself has deprecated"
DIFFERENCES: Mapping[str, str] = {
    "test_examples.test_writer": DOMAIN,
    "test_examples.TestElevator.test_floor_selection": MACROSTEP,
    "test_interpreter.TestInterpreterWithSimple.test_deprecated_time": OLD,
    "test_interpreter.TestInterpreterWithSimple.test_queue": QUEUES,
    "test_interpreter.TestInterpreterWithSimple.test_simple_configuration": MACROSTEP,
    "test_interpreter.TestInterpreterWithSimple.test_simple_entered": MACROSTEP,
    "test_interpreter.TestInterpreterWithInternal.test_sent": MACROSTEP,
    "test_interpreter.TestInterpreterWithInternal.test_internal_before_external": MACROSTEP,
    "test_interpreter.TestInterpreterWithFinal.test_when_root_child_is_final": "the last configuration is kept",
    "test_interpreter.TestInterpreterWithNonDeterministic.test_nondeterminism": PREEMPTS,
    "test_interpreter.TestInterpreterWithHistory.test_resume_memory": HISTORY,
    "test_interpreter.TestInterpreterWithDeephistory.test_deep_memory": QUEUES.replace("queues", "memory"),
    "test_interpreter.TestInterpreterWithDeephistory.test_entered_order": HISTORY,
    "test_interpreter.TestInterpreterWithDeephistory.test_exited_order": ORDER,
    "test_interpreter.TestInterpreterWithInfinite.test_three_steps": MACROSTEP,
    "test_interpreter.TestInterpreterWithInfinite.test_auto_three_steps": MACROSTEP,
    "test_interpreter.TestInterpreterWithParallel.test_concurrent_transitions": ORDER,
    "test_interpreter.TestInterpreterWithParallel.test_concurrent_transitions_nested_target": DOMAIN,
    "test_interpreter.TestInterpreterWithParallel.test_unnested_transitions": DOMAIN,
    "test_interpreter.TestInterpreterWithParallel.test_conflicting_transitions": PREEMPTS,
    "test_interpreter.TestInterpreterWithParallel.test_conflicting_transitions_2": PREEMPTS,
    "test_interpreter.TestInterpreterWithNestedParallel.test_parallel_order": ORDER,
    "test_interpreter.TestInterpreterWithNestedParallel.test_partial_parallel_order": ORDER,
    "test_interpreter.TestInterpreterWithNestedParallel.test_partial_unnested_transition": ORDER,
    "test_interpreter.TestInterpreterWithNestedParallel.test_name_order": ORDER,
    "test_interpreter.TestTransitionPriority.test_high_has_priority": "its chart cycles without an event",
    "test_interpreter.TestTransitionPriority.test_eventless_first": "its chart cycles without an event",
    "test_interpreter.TestTransitionPriority.test_conflicting_priorities": "its chart cycles without an event",
    "test_interpreter.TestTransitionPriority.test_event_high_has_priority": "its chart cycles without an event",
    "test_interpreter.TestInterpreterBinding.test_bind": QUEUES,
    "test_interpreter.TestInterpreterBinding.test_bind_callable": QUEUES,
    "test_interpreter.TestInterpreterBinding.test_metaevent": QUEUES,
    "test_interpreter.TestInterpreterBinding.test_event": QUEUES,
    "test_interpreter.test_interpreter_is_serialisable": "`snapshot` is the way; pickling is refused and says so",
    "test_interpreter.TestEventQueue.test_delay": QUEUES,
    "test_interpreter.TestEventQueue.test_consume_order": QUEUES,
    "test_interpreter.TestEventQueue.test_internal_first": QUEUES,
    "test_property.TestInterpreterMetaEvents.test_deprecated_interpreter": OLD,
    "test_property.TestInterpreterMetaEvents.test_event_sent": CHANGED,
    "test_property.TestInterpreterMetaEvents.test_meta_event_sent": CHANGED,
    "test_property.TestInterpreterMetaEvents.test_trace": MACROSTEP,
}
"""Tests that ask for what rawko does otherwise on purpose, with the rule (docs/semantics.md)."""
HERE = Path(__file__).parent
_SWAPPED = str.maketrans({'"': "'", "'": '"'})


def working_copy(folder: Path, target: Path) -> Path:
    """Copy the suite and the documentation, with the steps' quotes as the installed sismic wants them."""
    shutil.copytree(folder, target)
    for feature in target.rglob("*.feature"):
        feature.write_text(feature.read_text("utf-8").replace('"', "'"), "utf-8")
    for steps in target.rglob("steps.py"):
        steps.write_text(steps.read_text("utf-8").translate(_SWAPPED), "utf-8")
    return target


def run_suite(engine: str, *, timeout_s: float = 300) -> Mapping[str, str]:
    """Run the suite.

    Returns:
        By test, without the folder: "passed" or "skipped", or the first line of what went wrong.
    """
    with TemporaryDirectory() as work:
        copy = working_copy(sismic_folder(), Path(work) / "sismic")
        report = Path(work) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "engine",
        ]  # by its folder: the suite, too, is named tests
        command += ["-p", "no:cacheprovider", f"--junitxml={report}", f"--rootdir={copy}", "-k", f"not {SLEEPS}"]
        command += [f"tests/{module}.py" for module in MODULES]
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, ENGINE: engine, "PYTHONPATH": path, "PYTEST_ADDOPTS": "", "COLUMNS": "160"}
        subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=timeout_s, check=False)
        return _outcomes(report)


def _outcomes(report: Path) -> dict[str, str]:
    return {
        f"{case.get('classname', '').removeprefix('tests.')}.{case.get('name')}": _outcome(case)
        for case in ElementTree.parse(report).getroot().iter("testcase")
    }


def _outcome(case: ElementTree.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error"):
            return (child.get("message") or child.tag).splitlines()[0]
        if child.tag == "skipped":
            return "skipped"
    return "passed"


def failures(outcomes: Mapping[str, str]) -> dict[str, str]:
    """What went wrong by test, a test with several parameters once."""
    return {
        name.partition("[")[0]: outcome for name, outcome in outcomes.items() if outcome not in ("passed", "skipped")
    }


def main() -> None:
    """Print what does not pass, and the count."""
    outcomes = run_suite(sys.argv[1] if len(sys.argv) > 1 else "rawko")
    for name, outcome in failures(outcomes).items():
        print(f"{name}: {outcome} ({DIFFERENCES.get(name, 'not expected')})")
    print(f"{sum(outcome == 'passed' for outcome in outcomes.values())} of {len(outcomes)} passed")


if __name__ == "__main__":
    main()
