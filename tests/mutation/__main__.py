"""`make mutants`: put small defects into the code, one at a time, and see whether a test fails.

    python -m tests.mutation [ROOM...] [--count 300] [--seed 0] [-j N] [--page docs/mutants.md] [--after LOG]

Places are drawn at random over the rooms: the same for the same seed, as long as their lines stay as they are. The
tests that run the place are tried, the quickest first, up to the first failure; slow tests and those of the command
line are not tried. Each job has a copy of the tree to itself. A defect that no test can find, because nothing that a
user could see changes, counts as equivalent where `equivalents.yaml` lists it with the reason. Exit code 1 where fewer
than 95 of 100 others are found.

`--after` takes what a former run has printed: what it has found counts as found, and only the others are tried again,
with the tests that were written since. The page says so.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from tests.mutation.covering import Covering, known
from tests.mutation.equivalents import Key, key, reasons
from tests.mutation.operators import Place, function_of, places
from tests.mutation.page import Outcome, page
from tests.requirements.mutant_probe import BROKEN
from tests.requirements.page import ROOT
from tests.requirements.tree import DEADLINE_S, Tree, Trial

ROOMS = ("interpreter", "runtime", "workspace", "machines")
MEASURED = ("tests/interpreter", "tests/runtime", "tests/workspace", "tests/machines", "tests/testing", "tests/chart",
            "tests/journal", "tests/app", "tests/conformance", "tests/terminal", "statecharts")  # fmt: skip
"""Folders whose tests are measured; a stranger adds the folder of a new room here."""
KEPT = ROOT / ".cache" / "mutants.json"
"""Which tests run which lines, from one call to the next."""
MOST_TESTS = 400
"""At most so many tests are tried for one defect: a line that thousands run is found by the first, or by few."""
LIKELIEST = 40
"""So many tests are tried before all others: to load the files of all takes longer than to run these."""
SLACK_S = 60.0
"""What loading the tests of one defect may take on a machine that is busy with others, too."""
ACCEPTED = 0.95


@dataclass(frozen=True, slots=True)
class Defect:
    """One place of one module, and the module's text with the defect."""

    path: str
    place: Place
    source: str

    @property
    def room(self) -> str:
        return Path(self.path).parts[1]

    @property
    def module(self) -> str:
        return ".".join(Path(self.path).with_suffix("").parts).removesuffix(".__init__")

    @property
    def key(self) -> Key:
        return key(self.path, self.source, self.place)

    def __str__(self) -> str:
        before = " ".join(self.source[self.place.start : self.place.end].split())
        after = " ".join(self.place.text.split())
        return f"{self.path}:{self.place.line} {self.place.kind}: `{before[:70]}` -> `{after[:70]}`"


def draw(rooms: Iterable[str], count: int, seed: int, root: Path = ROOT) -> list[Defect]:
    """`count` defects at most, no two at one place, drawn evenly over all places of the rooms.

    Each place has a number that comes from the seed, its function and its line of source, and the lowest numbers are
    drawn: what changes elsewhere in the code leaves the sample as it was, so that two runs can be compared.
    """
    numbered: list[tuple[bytes, Defect]] = []
    for room in rooms:
        for file in sorted((root / "rawko" / room).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            path = file.relative_to(root).as_posix()
            alike: Counter[Key] = Counter()
            for place in places(source):
                defect = Defect(path, place, source)
                text = repr((seed, defect.key, alike[defect.key]))
                alike[defect.key] += 1
                numbered.append((hashlib.sha256(text.encode()).digest(), defect))
    chosen: dict[tuple[str, int, int], Defect] = {}
    for _, defect in sorted(numbered, key=lambda pair: pair[0]):
        if len(chosen) == count:
            break
        try:
            ast.parse(defect.place.applied(defect.source))
        except SyntaxError:
            continue
        chosen.setdefault((defect.path, defect.place.start, defect.place.end), defect)
    return sorted(chosen.values(), key=lambda defect: (defect.path, defect.place.start))


@cache
def imported_by(file: Path) -> frozenset[str]:
    """Modules that a file of tests names in its imports, `from package import module` included."""
    if file.suffix != ".py":
        return frozenset()
    named: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(named)


def importers(root: Path, files: Iterable[str], module: str) -> list[str]:
    """Test files that import a module by its name, or its package, which may hand on what the module has."""
    names = {module, module.rpartition(".")[0]}
    return [file for file in files if names & imported_by(root / file)]


def is_found(trial: Trial | None) -> bool:
    """A failing test, test files that do not load (2), a test without end, and a module that does not load show it."""
    return trial is not None and trial.code in (1, 2, None, BROKEN)


def attempt(tree: Tree, defect: Defect, covering: Covering) -> Trial | None:
    """What the tests that run the defect's lines come to; None where there are none.

    The test that found the defect the last time is tried alone, then the likeliest ones, then the others.
    """
    first, last = defect.place.line, defect.place.end_line
    function = function_of(defect.source, first)
    importing = importers(tree.root, covering.files, defect.module)
    tests = covering.tests(defect.path, first, last, function, importing)[:MOST_TESTS]
    finder = covering.finders.pop(str(defect), None)
    portions = [[finder] if finder in tests else [], tests[:LIKELIEST], tests[LIKELIEST:]]
    trial: Trial | None = None
    for portion in filter(None, portions):
        usual_s = sum(covering.seconds.get(test, 0.0) for test in portion)
        deadline_s = min(DEADLINE_S, SLACK_S + 20 * usual_s)  # some defects never come to an end
        trial = tree.try_({Path(defect.path): defect.place.applied(defect.source)}, portion, deadline_s=deadline_s)
        if is_found(trial):
            if trial.failed:
                covering.finders[str(defect)] = trial.failed[0]
            break
    return trial


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("rooms", nargs="*", help=f"rooms of rawko; {', '.join(ROOMS)} where none is given")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path, help="a page of Markdown that names what no test has found")
    parser.add_argument("--after", type=Path, help="what a former run has printed: only what it did not find is tried")
    parser.add_argument("-j", dest="jobs", type=int, default=2, help="defects at a time")
    options = parser.parse_args(arguments)

    rooms = options.rooms or ROOMS
    if unknown := [room for room in rooms if not (ROOT / "rawko" / room).is_dir()]:
        print(f"no room {', '.join(unknown)} in rawko/", file=sys.stderr)
        return 2
    drawn = draw(rooms, options.count, options.seed)
    before = found_before(options.after.read_text(encoding="utf-8")) if options.after else frozenset()
    defects = [defect for defect in drawn if str(defect) not in before]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rawko-defects-") as folder:
        trees: SimpleQueue[Tree] = SimpleQueue()
        first = Tree(Path(folder) / "0")
        print("measuring which tests run which lines", flush=True)
        covering = known(first, MEASURED, options.jobs, KEPT)
        print(f"known after {time.monotonic() - began:.0f} s: {len(covering.seconds)} tests", flush=True)
        for name in covering.failing:
            print(f"fails without any defect: {name}", flush=True)
        trees.put(first)
        for number in range(1, options.jobs):
            trees.put(Tree(Path(folder) / str(number)))

        def tried(defect: Defect) -> tuple[Defect, Trial | None]:
            tree = trees.get()
            try:
                return defect, attempt(tree, defect, covering)
            finally:
                trees.put(tree)

        surviving: list[Defect] = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for defect, trial in pool.map(tried, defects):
                if not is_found(trial):
                    surviving.append(defect)
                print(_line(defect, trial), flush=True)
    covering.write(KEPT)
    listed = reasons()
    outcome = Outcome(
        rooms,
        options.seed,
        len(drawn),
        [(str(defect), listed[defect.key]) for defect in surviving if defect.key in listed],
        [str(defect) for defect in surviving if defect.key not in listed],
        len(drawn) - len(defects),
    )
    print(f"{outcome.sentence} {time.monotonic() - began:.0f} s.")
    if options.page:
        options.page.write_text(page(outcome), encoding="utf-8")
    return 0 if outcome.share >= ACCEPTED else 1


def found_before(printed: str) -> frozenset[str]:
    """The defects that a run has found, as it has printed them; see `_line`."""
    lines = (line.removeprefix("found").split(" s  ", 1) for line in printed.splitlines() if line.startswith("found "))
    return frozenset(parts[1] for parts in lines if len(parts) == 2)


def _line(defect: Defect, trial: Trial | None) -> str:
    if trial is None:
        return f"NO TEST            {defect}"
    return f"{'found   ' if is_found(trial) else 'SURVIVES'} {trial.seconds:6.1f} s  {defect}"


if __name__ == "__main__":
    sys.exit(main())
