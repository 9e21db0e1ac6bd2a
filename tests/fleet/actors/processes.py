"""Workers for actors in processes of their own, and what their actors have written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

PATIENCE_S = 120


class ActorWorkerProcess:
    """A worker of the charts of `tests.fleet.actors.charts`."""

    def __init__(self, address: str, slots: int, log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fleet.actors.charts", address, str(slots)],
                cwd=Path(__file__).parents[3],
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, number: int) -> int:
        """Its exit code after a signal."""
        self.signal(number)
        code = self.process.wait(PATIENCE_S)
        assert "Traceback" not in self.said, self.said
        return code

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(PATIENCE_S)


def marks(file: Path, id: str) -> Counter[int]:
    """How often each call of `mark` of an actor has written its line."""
    if not file.exists():
        return Counter()
    lines = [line.split() for line in file.read_text().splitlines()]
    return Counter(int(number) for of, number, _ in lines if of == id)
