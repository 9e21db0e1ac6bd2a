"""Which tests run a line of code: measured once, by coverage.py with a context per test.

The measured tests run in the copy of the tree where the defects are tried, in a few processes side by side. A line
that only an import runs (a constant of a module) belongs to every test of its module.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coverage import CoverageData

from tests.requirements.tree import Tree

CONFIGURATION = """\
[run]
parallel = true
source = rawko
data_file = {data}
"""


@dataclass
class Covering:
    """Tests by line.

    Attributes:
        by_line: Path of a module, relative to the tree, then line, then node ids.
        seconds: How long each test takes, to try quick ones first.
        failing: Tests that fail without any defect; they prove nothing.
    """

    by_line: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failing: list[str] = field(default_factory=list)

    def drop(self, test: str) -> None:
        """Leave a test out that fails without any defect, on a busy machine for instance."""
        self.failing.append(test)
        for lines in self.by_line.values():
            for tests in lines.values():
                tests.discard(test)

    def tests(self, path: str, first: int, last: int) -> list[str]:
        """Tests that run any line from `first` to `last`, the quickest first."""
        lines = self.by_line.get(path, {})
        found = set[str]().union(*(lines.get(line, ()) for line in range(first, last + 1)))
        if not found:
            found = set().union(*lines.values()) if lines else set()
        return sorted(found, key=lambda name: (self.seconds.get(name, 0.0), name))


def measure(tree: Tree, folders: Sequence[str], jobs: int) -> Covering:
    """Run the tests of some folders in the tree, which stands unchanged, and read what each has run.

    Raises:
        RuntimeError: pytest did not come to the end of the tests.
    """
    data = tree.root.parent / "coverage"
    data.mkdir(exist_ok=True)
    settings = data / "coveragerc"
    settings.write_text(CONFIGURATION.format(data=data / "data"), encoding="utf-8")
    times = data / "seconds"
    times.mkdir(exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"CI": "1", "PYTHONDONTWRITEBYTECODE": "1", "RAWKO_TEST_SECONDS": str(times)}
    command = [str(tree.python), "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    command += ["-p", "tests.mutation.seconds_probe", "--cov", f"--cov-config={settings}", "--cov-context=test"]
    command += ["--cov-report=", "-m", "not slow", "-n", str(jobs), "--dist", "worksteal", *folders]
    done = subprocess.run(command, cwd=tree.root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
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
