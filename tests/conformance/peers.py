"""The public suites on other engines: stock sismic, python-statemachine, XState.

None of them gets help that a user would not find: stock sismic runs what `rawko export --to sismic` writes, with an
evaluator for SCXML's words (evaluators are sismic's way to other languages) and event names without SCXML's prefix
matching; python-statemachine reads the documents itself; XState runs what `rawko export --to xstate` writes, where
that has no code.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sismic.interpreter
from sismic.clock import SimulatedClock
from sismic.code import PythonEvaluator

from rawko.chart import Chart, ChartError, lower
from rawko.chart.expressions.formatting import format_guard
from rawko.chart.formats.scxml import import_scxml
from rawko.chart.formats.xstate import export_xstate
from rawko.chart.formats.xstate.functions import javascript
from tests.conformance import scion, w3c
from tests.conformance.javascript import respelled
from tests.formats.xstate_node import NoXState, XStateNode, xstate_node

LONGEST_S = 15.0
"""Engines that wait for real are given this long for a case."""
NOT_RUN = "cannot be written for this engine"


# ---------------------------------------------------------------- stock sismic


class ScxmlWords(PythonEvaluator):
    """Python with the words of SCXML's data model."""

    def _evaluate_code(self, code: str, *, additional_context: Mapping[str, Any] | None = None) -> Any:
        return super()._evaluate_code(code, additional_context=self._words(additional_context))

    def _execute_code(self, code: str, *, additional_context: Mapping[str, Any] | None = None) -> Any:
        return super()._execute_code(code, additional_context=self._words(additional_context))

    def _words(self, more: Mapping[str, Any] | None) -> dict[str, Any]:
        event = (more or {}).get("event")
        return {
            **(more or {}),
            "_event": event,
            "_name": "scxml",
            "_sessionid": "s",
            "In": lambda name: name in self._interpreter.configuration,  # type: ignore[attr-defined]
            "assign": lambda name, value: self.context.__setitem__(name, deepcopy(value)),  # type: ignore[index]
            "holds": lambda condition: bool(condition()),
            "log": lambda *words: None,
        }


def stock_machine(chart: Chart) -> Any:
    """The chart as stock sismic has it, event descriptors as plain names."""
    statechart: Any = lower(chart).statechart
    for transition in statechart.transitions:
        if transition.event:
            transition.event = transition.event.removesuffix(".*")
    return sismic.interpreter.Interpreter(statechart, evaluator_klass=ScxmlWords, clock=SimulatedClock())


def scion_on_sismic(case: scion.Case) -> str | None:
    """None if stock sismic goes the expected way."""
    try:
        path = case.folder / f"{case.name}.scxml"
        chart = import_scxml(respelled(path), file=path.name, trusted=True, data_model="python", folder=case.folder)
        machine, script = stock_machine(chart.chart), case.script()
        machine.execute(max_steps=200)
        expected, found = set(script["initialConfiguration"]), _leaves(machine)
        for part in script["events"]:
            if found != expected:
                break
            machine.clock.time += part.get("after", 0) / 1000
            data = part["event"].get("data", {})
            machine.queue(part["event"]["name"], **(data if isinstance(data, dict) else {"data": data}))
            machine.execute(max_steps=200)
            expected, found = set(part["nextConfiguration"]), _leaves(machine)
    except Exception as error:  # noqa: BLE001  # whatever it is, the case does not pass
        return f"{type(error).__name__}: {error}"
    return None if found == expected else f"expected {sorted(expected)}, found {sorted(found)}"


def _leaves(machine: Any) -> set[str]:
    chart = machine.statechart
    return {name for name in machine.configuration if not chart.children_for(name)}


def w3c_on_sismic(case: w3c.Case) -> str | None:
    """None if stock sismic enters `pass`."""
    try:
        text, folder = case.path.read_text("utf-8"), case.path.parent
        chart = import_scxml(text, file=case.path.name, trusted=True, data_model="python", folder=folder).chart
        machine = stock_machine(chart)
        entered: list[str] = []
        machine.attach(lambda event: entered.append(event.state) if event.name == "state entered" else None)
        for _ in range(40):
            machine.execute(max_steps=200)
            machine.clock.time += 0.25
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return None if "pass" in entered else f"entered {', '.join(entered[-3:])}"


# ---------------------------------------------------------------- python-statemachine


def _with_limit(kind: str, path: Path, script: Any = None) -> str | None:
    """A case in a process of its own."""
    asked = json.dumps({"kind": kind, "path": str(path), "script": script})
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("statemachine_process.py"))]
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, text=True, timeout=LONGEST_S, cwd=path.parent, check=False
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode or not done.stdout:
        return f"failed: {done.stderr.strip()[-200:]}"
    outcome: str | None = json.loads(done.stdout)
    return outcome


def w3c_on_statemachine(cases: Iterable[w3c.Case]) -> dict[str, str | None]:
    """Outcomes by case; several at a time, for most of it is waiting.

    Raises:
        ImportError: It is not installed.
    """
    importlib.import_module("statemachine.io")
    return _many({case.id: ("w3c", case.path, None) for case in cases})


def scion_on_statemachine(cases: Iterable[scion.Case]) -> dict[str, str | None]:
    """Outcomes by case; the documents' JavaScript is respelled as Python, as for rawko.

    Raises:
        ImportError: It is not installed.
    """
    importlib.import_module("statemachine.io")
    with TemporaryDirectory() as work:
        jobs = {}
        for number, case in enumerate(cases):
            folder = Path(work) / str(number)
            folder.mkdir()
            (folder / "case.scxml").write_text(respelled(case.folder / f"{case.name}.scxml"), "utf-8")
            jobs[case.id] = ("scion", folder / "case.scxml", case.script())
        return _many(jobs)


def _many(jobs: Mapping[str, tuple[str, Path, Any]]) -> dict[str, str | None]:
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(jobs, pool.map(lambda job: _with_limit(*job), jobs.values()), strict=True))


# ---------------------------------------------------------------- XState


def scion_on_xstate(cases: Iterable[scion.Case]) -> dict[str, str | None]:
    """Outcomes by case; `NOT_RUN` where the machine would hold code.

    Raises:
        NoXState: No node, or XState cannot be fetched.
    """
    with xstate_node() as node:
        return {case.id: _xstate_case(node, case) for case in cases}


def _xstate_case(node: XStateNode, case: scion.Case) -> str | None:
    path = case.folder / f"{case.name}.scxml"
    try:
        chart = import_scxml(path.read_text("utf-8"), file=path.name).chart
    except ChartError:
        return NOT_RUN  # it needs a data model
    guards = {format_guard(t.guard): javascript(t.guard) for t in chart.transitions if t.guard is not None}
    script = case.script()
    steps: list[dict[str, Any]] = [{"says": {}}]
    for part in script["events"]:
        steps.append({"advance": part.get("after", 0), "says": {}})
        steps.append({"event": {"type": part["event"]["name"]}, "says": {}})
    request = {"machine": json.loads(export_xstate(chart).text), "provide": guards, "guards": [], "actions": []}
    answer = node.run({**request, "actors": [], "delays": {}, "steps": steps})
    seen = [set(step["active"]) for step in answer["steps"]]
    wanted = [script["initialConfiguration"], *(part["nextConfiguration"] for part in script["events"])]
    if answer["failure"] or len(seen) != len(steps):
        return f"failed: {answer['failure']}"
    for expected, found in zip(wanted, [seen[0], *seen[2::2]], strict=True):
        leaves = {name for name in found if name in chart and not chart[name].children}
        if leaves != set(expected):
            return f"expected {sorted(expected)}, found {sorted(leaves)}"
    return None


__all__ = ["NOT_RUN", "NoXState", "scion_on_sismic", "scion_on_statemachine", "scion_on_xstate", "w3c_on_sismic",
           "w3c_on_statemachine"]  # fmt: skip
