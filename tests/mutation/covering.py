"""Which tests run a line of code: measured once, by coverage.py with a context per test, and kept for the next time.

The measured tests run in the copy of the tree where the defects are tried, in a few processes side by side. A line
that only an import runs (a constant of a module) belongs to every test of its module.

What is kept (`.cache/mutants.json`) holds as long as the code is the same: another text in `rawko/` and all is
measured anew; another text of one test file, and only that file is.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coverage import CoverageData

from tests.requirements.tree import Tree

CONFIGURATION = """\
[run]
parallel = true
source = {package}
data_file = {data}
"""
FEW = 20
"""A line that at most so many tests run is a rare one."""


@dataclass
class Covering:
    """Tests by line.

    Attributes:
        by_line: Path of a module, relative to the tree, then line, then node ids.
        seconds: How long each test takes, to try quick ones first.
        failing: Tests that fail without any defect; they prove nothing.
        finders: By the text of a defect, the test that has found it; it is tried first the next time.
        code: A digest of the code that was measured.
        files: A digest of each test file that was measured.
    """

    by_line: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)
    code: str = ""
    files: dict[str, str] = field(default_factory=dict)
    finders: dict[str, str] = field(default_factory=dict)

    def forget(self, files: Iterable[str]) -> None:
        """Leave out what is known of the tests of some files."""
        gone = set(files)
        for lines in self.by_line.values():
            for line, tests in lines.items():
                lines[line] = {test for test in tests if test.partition("::")[0] not in gone}
        self.seconds = {test: took for test, took in self.seconds.items() if test.partition("::")[0] not in gone}
        self.failing = [test for test in self.failing if test.partition("::")[0] not in gone]
        for file in gone:
            self.files.pop(file, None)

    def add(self, other: Covering) -> None:
        for path, lines in other.by_line.items():
            mine = self.by_line.setdefault(path, {})
            for line, tests in lines.items():
                mine.setdefault(line, set()).update(tests)
        self.seconds |= other.seconds
        self.failing += other.failing

    def write(self, file: Path) -> None:
        names = sorted(self.seconds)
        numbers = {name: number for number, name in enumerate(names)}
        lines = {
            path: {line: sorted(numbers[test] for test in tests if test in numbers) for line, tests in lines.items()}
            for path, lines in self.by_line.items()
        }
        text = json.dumps(
            {
                "code": self.code,
                "files": self.files,
                "tests": names,
                "seconds": [self.seconds[name] for name in names],
                "failing": self.failing,
                "finders": self.finders,
                "lines": lines,
            }
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as written:
            written.write(text)
        Path(written.name).replace(file)

    @classmethod
    def read(cls, file: Path) -> Covering:
        """What `write` has written; nothing where the file is missing or is not such a file."""
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            names = kept["tests"]
            by_line = {
                path: {int(line): {names[number] for number in tests} for line, tests in lines.items()}
                for path, lines in kept["lines"].items()
            }
            seconds = dict(zip(names, kept["seconds"], strict=True))
            return cls(by_line, seconds, kept["failing"], kept["code"], kept["files"], kept.get("finders", {}))
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return cls()

    def drop(self, test: str) -> None:
        """Leave a test out that fails without any defect, on a busy machine for instance."""
        self.failing.append(test)
        for lines in self.by_line.values():
            for tests in lines.values():
                tests.discard(test)

    def tests(
        self, path: str, first: int, last: int, function: tuple[int, int] | None, importing: Collection[str] = ()
    ) -> list[str]:
        """Tests that run any line from `first` to `last`, the likeliest to fail first.

        Those that also run a line of the same function which few tests run come before all others: of two thousand
        tests that ask a condition, the four that take its rare branch show that it is turned. Then one test of each
        test function, then a second one of each and so on, the quickest first: of a table of five hundred quick cases
        that are all alike, the last ones must not come before the slower test of another kind.

        Args:
            function: First and last line of the function around; None for lines that an import runs (a constant of a
                module): these belong to every test of the module.
            importing: Test files that import the module. Their tests are the likeliest for lines that an import runs:
                a test that looks at a constant runs no line of the module.
        """
        lines = self.by_line.get(path, {})
        if function is None:
            found = set[str]().union(*lines.values())
        else:
            found = set[str]().union(*(lines.get(line, ()) for line in range(first, last + 1)))
        rare = set[str]()
        if function is None or not found:
            rare = {test for test in self.seconds if test.partition("::")[0] in importing}
            found |= rare
        if function is not None:
            near = (lines.get(line, set()) for line in range(function[0], function[1] + 1))
            rare |= set[str]().union(*(tests for tests in near if len(tests) <= FEW)) & found
        quick = sorted(found, key=lambda name: (self.seconds.get(name, 0.0), name))
        of_function: Counter[str] = Counter()
        rounds: dict[str, int] = {}
        for name in quick:
            function_name = name.partition("[")[0]
            rounds[name] = of_function[function_name]
            of_function[function_name] += 1
        return sorted(quick, key=lambda name: (name not in rare, rounds[name]))  # stable: quick ones stay first


def known(tree: Tree, folders: Sequence[str], jobs: int, kept: Path, package: str = "rawko") -> Covering:
    """Which tests run which lines of the tree: what is kept, and what has changed since, measured and kept.

    Args:
        kept: The file; it may be missing.

    Raises:
        RuntimeError: As `measure`.
    """
    code = _digest(file for name in (package, "statecharts", "prompts") for file in (tree.root / name).rglob("*"))
    files = {
        file.relative_to(tree.root).as_posix(): _digest([file])
        for folder in folders
        for file in sorted((tree.root / folder).rglob("*"))
        if file.suffix == ".feature" or (file.suffix == ".py" and file.name.startswith("test_"))
    }
    covering = Covering.read(kept)
    if covering.code != code:
        covering = Covering(code=code)
    covering.forget([file for file, digest in covering.files.items() if files.get(file) != digest])
    missing = [file for file in files if file not in covering.files]
    if missing:
        covering.add(measure(tree, missing, jobs, package))
        covering.files = files
        covering.write(kept)
    return covering


def _digest(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for file in sorted(files):
        if file.is_file() and file.suffix != ".pyc":
            whole.update(file.name.encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def measure(tree: Tree, tests: Sequence[str], jobs: int, package: str = "rawko") -> Covering:
    """Run the tests of some files in the tree, which stands unchanged, and read what each has run.

    Raises:
        RuntimeError: pytest did not come to the end of the tests.
    """
    data = Path(tempfile.mkdtemp(prefix="coverage-", dir=tree.root.parent))
    settings = data / "coveragerc"
    settings.write_text(CONFIGURATION.format(data=data / "data", package=package), encoding="utf-8")
    times = data / "seconds"
    times.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"CI": "1", "PYTHONDONTWRITEBYTECODE": "1", "RAWKO_TEST_SECONDS": str(times)}
    command = [str(tree.python), "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    command += ["-p", "tests.mutation.seconds_probe", "--cov", f"--cov-config={settings}", "--cov-context=test"]
    command += ["--cov-report=", "-m", "not slow", "-n", str(jobs), "--dist", "worksteal", *tests]
    done = subprocess.run(command, cwd=tree.root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 5):  # 5: all tests of these files are slow ones
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
    covering = _read(tree.root, data, times)
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            covering.drop(line.split(" ", 1)[1].split(" - ", 1)[0])
    return covering


def _read(root: Path, data: Path, times: Path) -> Covering:
    covering = Covering()
    for file in sorted(data.glob("data*")):
        stored = CoverageData(str(file))
        stored.read()
        for name in stored.measured_files():
            path = Path(name)
            if not path.is_relative_to(root):
                continue
            lines = covering.by_line.setdefault(path.relative_to(root).as_posix(), {})
            for line, contexts in stored.contexts_by_lineno(name).items():
                tests = {context.rpartition("|")[0] for context in contexts if "|" in context}
                if tests:
                    lines.setdefault(line, set()).update(tests)
    for file in times.iterdir():
        for row in file.read_text(encoding="utf-8").splitlines():
            name, seconds = json.loads(row)
            covering.seconds[name] = seconds
    return covering
