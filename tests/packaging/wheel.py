"""The wheel of this checkout, built once in a run of the tests: its processes share the file."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir")
UV = Path(sys.executable).with_name("uv")
"""Where it is installed: it takes a quarter of pip's time."""


def built_wheel(factory: pytest.TempPathFactory) -> Path:
    """The wheel's file, which no test may change; a test is skipped where the build backend cannot be fetched.

    `pytest -n` gives each of its processes a folder inside of the run's own: there the wheel lies, and a lock, so that
    the first process that asks builds and the others wait for it.
    """
    base = factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "wheel"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (found := list(folder.glob("*.whl"))):
            for command in ((UV, "build", "--quiet", "--wheel", "--out-dir"), PIP) if UV.exists() else (PIP,):
                words = [*command, str(folder), str(ROOT)]
                done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
                if not done.returncode:
                    break
            if done.returncode and "hatchling" in done.stderr:
                pytest.skip(f"the build backend could not be fetched: {done.stderr.strip()[-200:]}")
            assert done.returncode == 0, done.stderr
            found = list(folder.glob("*.whl"))
    (wheel,) = found
    return wheel
