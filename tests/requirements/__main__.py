"""`make requirements-mutants`: break each built row in each stated way and see that a test that the row names fails.

    python -m tests.requirements [ID...] [-j N]

An id may be the beginning of one (`S3`, `C-2`). Exit code 1 where a mutant survives, hangs or does not load; 2 where a
named test fails without any mutant.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from rawko.testing.collect import scenario_test_name
from tests.requirements.mutant_probe import BROKEN
from tests.requirements.mutants import Mutant, load_mutants, mutated, shipped_texts
from tests.requirements.page import Row, rows, scenarios
from tests.requirements.tree import DEADLINE_S, Tree, Trial

SLOW = ("/e2e/", "/cli/", "/docs/", "/conformance/")
"""Folders whose tests are run after the others that a row names."""
EACH_S = 2
"""Seconds more that all tests may take together, for each: a row may name a file with hundreds."""


def node_ids(row: Row) -> list[str]:
    """What pytest is given to run the tests that a row names: functions first, whole files later, slow folders last."""
    ids = [f"{file}::{function}" if function else file for file, function in row.tests()]
    for file, title in row.scenarios():
        names = [scenario_test_name(number, name) for number, name in scenarios(file, title)]
        ids += [f"{file}::{name}" for name in names] if title else [file]
    return sorted(dict.fromkeys(ids), key=lambda name: (any(folder in name for folder in SLOW), "::" not in name))


def verdict(trial: Trial) -> str:
    match trial.code:
        case 1:
            return "fails"
        case 0:
            return "SURVIVES"
        case None:
            return "HANGS"
        case code if code == BROKEN:
            return "DOES NOT LOAD"
        case code:
            return f"PYTEST ENDS WITH {code}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make requirements-mutants")
    parser.add_argument("ids", nargs="*", help="ids, or how they begin; all where none is given")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument(
        "--verbose", action="store_true", help="show what pytest printed where a mutant does not fail its tests"
    )
    parser.add_argument("--unchecked", action="store_true", help="do not first run the tests without any mutant")
    options = parser.parse_args(arguments)

    mutants, _ = load_mutants()
    wanted = [m for m in mutants if not options.ids or any(m.name.startswith(name) for name in options.ids)]
    if not wanted:
        print(f"no mutant of {' '.join(options.ids)}", file=sys.stderr)
        return 2
    texts = shipped_texts()
    by_id = {row.id: row for row in rows()}
    tests = {identifier: node_ids(by_id[identifier]) for identifier in {mutant.id for mutant in wanted}}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rawko-mutants-") as folder, contextlib.ExitStack() as stack:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(options.jobs):
            trees.put(Tree(Path(folder) / str(number)))
        if not options.unchecked and not _sound(trees, tests):
            return 2

        def attempt(mutant: Mutant) -> tuple[Mutant, Trial]:
            tree = trees.get()
            try:
                return mutant, tree.try_(mutated(mutant, texts), tests[mutant.id])
            finally:
                trees.put(tree)

        pool = stack.enter_context(ThreadPoolExecutor(options.jobs))
        surviving = 0
        for mutant, trial in pool.map(attempt, wanted):
            said = verdict(trial)
            surviving += said != "fails"
            shown = trial.failed[0] if said == "fails" and trial.failed else mutant.breaks
            print(f"{mutant.name:9} {trial.seconds:5.1f} s  {said:8}  {shown}", flush=True)
            if said != "fails" and options.verbose:
                print(trial.output)
    print(f"{len(wanted)} mutants, {surviving} not found, {time.monotonic() - began:.0f} s")
    return 1 if surviving else 0


def _sound(trees: SimpleQueue[Tree], tests: dict[str, list[str]]) -> bool:
    """Whether all named tests pass where nothing is broken; else what fails is printed."""
    tree = trees.get()
    named = sorted({name for names in tests.values() for name in names})
    trial = tree.try_({}, named, stop=False, deadline_s=DEADLINE_S + EACH_S * len(named))
    trees.put(tree)
    if trial.code != 0:
        print(trial.output, file=sys.stderr)
        what = "tests fail" if trial.code is not None else f"{len(named)} tests do not end in {trial.seconds:.0f} s,"
        print(f"{what} without any mutant", file=sys.stderr)
    return trial.code == 0


if __name__ == "__main__":
    sys.exit(main())
