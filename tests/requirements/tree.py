"""A copy of the tree in a temporary folder, with a Python whose `rawko` is the copy: there mutants are tried.

Sub-processes of tests start the same Python, so they run the mutated code, too, whatever environment a test gives them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.requirements.page import ROOT

COPIED = (
    "rawko",
    "statecharts",
    "prompts",
    "tests",
    "docs",
    "stubs",
    "pyproject.toml",
    "README.md",
    "SECURITY.md",
    "LICENSE",
    "Makefile",
)
DEADLINE_S = 240
"""What the tests of one mutant may take on a machine that is busy with others, too."""


@dataclass(frozen=True)
class Trial:
    """What one run of pytest came to.

    Attributes:
        code: pytest's exit code; None where the deadline has passed.
        failed: Node ids of the tests that failed.
        seconds: Wall time.
        output: What pytest has printed.
    """

    code: int | None
    failed: tuple[str, ...]
    seconds: float
    output: str


class Tree:
    """A copy of the shipped files and the tests under `folder`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir(parents=True)
        leave = shutil.ignore_patterns("__pycache__", ".*")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=leave, symlinks=True)
            elif source.exists():
                shutil.copy2(source, self.root / name)
        if (ROOT / ".cache").is_dir():  # public suites that were fetched once
            (self.root / ".cache").symlink_to(ROOT / ".cache")
        self.python = _environment(folder / "venv", self.root)
        compiling = [
            str(self.python),
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "checked-hash",
            "rawko",
            "tests",
        ]
        subprocess.run(compiling, cwd=self.root, check=True, capture_output=True)

    def try_(
        self, changed: Mapping[Path, str], tests: Sequence[str], *, stop: bool = True, deadline_s: float = DEADLINE_S
    ) -> Trial:
        """Run tests with some files changed; afterwards the tree is as before."""
        before = {path: (self.root / path).read_bytes() for path in changed}
        try:
            for path, text in changed.items():
                (self.root / path).write_text(text, encoding="utf-8")
            return self._run(changed, tests, stop=stop, deadline_s=deadline_s)
        finally:
            for path, content in before.items():
                (self.root / path).write_bytes(content)

    def _run(self, changed: Mapping[Path, str], tests: Sequence[str], *, stop: bool, deadline_s: float) -> Trial:
        probe = ["-p", "tests.requirements.mutant_probe"]
        plain = [
            "-q",
            "--no-header",
            "--tb=line",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            *(["-x"] if stop else []),
        ]
        # Compiled files may be kept: those of `rawko` are checked by content, and pytest's own of the tests by time.
        settings = {"CI": "1", "RAWKO_MUTATED": ":".join(map(str, changed))}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | settings
        began = time.monotonic()
        with subprocess.Popen(
            [str(self.python), "-m", "pytest", *probe, *plain, *tests],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=deadline_s)
                code: int | None = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                output, code = process.communicate()[0], None
        lines = (line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR ")))
        failed = tuple(line.split(" ", 1)[1].split(" - ", 1)[0] for line in lines)
        return Trial(code, failed, time.monotonic() - began, output)


def _environment(folder: Path, root: Path) -> Path:
    """A virtual environment with everything that this one has, but with `rawko` and `tests` from `root`; its Python."""
    site = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    here = Path(sys.prefix)
    (folder / "bin").mkdir(parents=True)
    (folder / site).mkdir(parents=True)
    shutil.copy2(here / "pyvenv.cfg", folder / "pyvenv.cfg")
    interpreter = Path(sys.executable).resolve()
    for name in ("python", "python3", f"python{sys.version_info.major}.{sys.version_info.minor}"):
        (folder / "bin" / name).symlink_to(interpreter)
    for path in (here / "bin").iterdir():
        target = folder / "bin" / path.name
        if target.exists() or not path.is_file():
            continue
        head = path.read_bytes()[:2]
        if head == b"#!":
            script = path.read_text(encoding="utf-8").partition("\n")[2]
            target.write_text(f"#!{folder / 'bin' / 'python'}\n{script}", encoding="utf-8")
            target.chmod(0o755)
        else:
            target.symlink_to(path)
    # The first line wins over the second, whose own .pth files (an editable rawko among them) are not read.
    (folder / site / "copy.pth").write_text(f"{root}\n{here / site}\n", encoding="utf-8")
    return folder / "bin" / "python"
