"""What the harness needs of a contender: workers are started, runs are queued, those that have ended are counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy.engine import URL


class Missing(Exception):
    """A contender is not installed; the text says what installs it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a contender works: a database without tasks, and an empty folder.

    Attributes:
        answer_s: How long the model takes for an answer.
    """

    url: URL
    folder: Path
    steps: int
    workers: int
    slots: int
    answer_s: float = 0.0

    @property
    def address(self) -> str:
        return self.url.set(drivername="postgresql").render_as_string(hide_password=False)


class Contender(Protocol):
    """One way to carry out the runs."""

    name: str

    def prepare(self, place: Place) -> None:
        """Make tables and what else is there before the first worker.

        Raises:
            Missing: It is not installed.
        """
        ...

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        """Start a worker in a process of its own."""
        ...

    def submit(self, names: Sequence[str]) -> None:
        """Queue runs."""
        ...

    def ended(self) -> int:
        """How many runs have ended so far."""
        ...

    def workspace(self, name: str) -> Path:
        """Where a run has left its files."""
        ...

    def close(self) -> None:
        """Give all connections back."""
        ...


def start(words: Sequence[str], place: Place, environ: Mapping[str, str], number: int) -> subprocess.Popen[bytes]:
    """A worker's process; what it says goes into a file."""
    with (place.folder / f"worker-{number}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=Path(__file__).parents[3],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
