"""All that a program has started: its session, and whoever carries its mark into a session of his own, as daemons do.

The mark is a variable of the environment, which every process inherits. Read from /proc; where there is none, nobody is
found, and only the process groups on the terminal are ended.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "RAWKO_EXPLORATION"
_PROC: Final = Path("/proc")
_ROUNDS: Final = 5
"""Whoever forks while he is being killed leaves somebody for the next round."""


def members(mark: str, session: int | None = None) -> set[int]:
    """Living processes that carry the mark, or are of the session; never this one."""
    wanted = f"{MARK}={mark}".encode()
    return {process for process in _processes() if _is_member(process, wanted, session)} - {os.getpid()}


def end(mark: str, session: int | None = None) -> None:
    """KILL them all."""
    for _ in range(_ROUNDS):
        found = members(mark, session)
        if not found:
            return
        tell(found, signal.SIGKILL)


def tell(processes: set[int], number: int) -> None:
    """Send them a signal; those that have ended meanwhile, or are out of reach, are none's loss."""
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _processes() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdecimal())


def _is_member(process: int, wanted: bytes, session: int | None) -> bool:
    try:
        # The name in parentheses may hold anything; behind it: state, parent, group, session.
        stat = (_PROC / str(process) / "stat").read_bytes().rpartition(b")")[2].split()
        if stat[0] in (b"Z", b"X"):
            return False
        return int(stat[3]) == session or wanted in (_PROC / str(process) / "environ").read_bytes().split(b"\0")
    except (OSError, IndexError):  # it has ended, or is somebody else's
        return False
