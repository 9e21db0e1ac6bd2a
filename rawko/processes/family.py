"""Processes that belong together: descendants of one, a session, and whoever carries a mark into a session of his own.

A mark is a variable of the environment, which every process inherits unless it empties that. Read from /proc; where
there is none, nobody is found.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_ROUNDS: Final = 20
"""A process that forks while it is being killed leaves a child for the next round."""


@dataclass(frozen=True, slots=True)
class Process:
    """A living process.

    Attributes:
        start: When it started, in ticks since the machine's start: with `id`, no two processes have the same.
    """

    id: int
    parent: int
    group: int
    session: int
    start: str


def living() -> Iterator[Process]:
    """All processes that are more than zombies."""
    with suppress(OSError):
        for entry in os.scandir(_PROC):
            if entry.name.isdecimal() and (found := look_up(int(entry.name))) is not None:
                yield found


def look_up(process: int) -> Process | None:
    """A process that is there, and is no zombie."""
    try:
        # The name in parentheses may hold anything; behind it: state, parent, group, session.
        stat = (_PROC / str(process) / "stat").read_bytes().rpartition(b")")[2].split()
        if stat[0] in (b"Z", b"X"):
            return None
        return Process(process, int(stat[1]), int(stat[2]), int(stat[3]), stat[19].decode())
    except (OSError, IndexError):
        return None


def members(mark: str = "", session: int | None = None, ancestor: int | None = None) -> set[int]:
    """Living processes that carry the mark, are of the session, or descend from the ancestor; never this one.

    Args:
        mark: The variable and its value, `NAME=value`; "" for none.
        ancestor: Itself included.
    """
    wanted = mark.encode()
    everyone = list(living())
    found = {one.id for one in everyone if one.session == session or one.id == ancestor}
    found |= {one.id for one in everyone if wanted and one.id not in found and wanted in _environment(one.id)}
    size = -1
    while ancestor is not None and size != len(found):
        size = len(found)
        found |= {one.id for one in everyone if one.parent in found}
    return found - {os.getpid()}


def end(mark: str = "", session: int | None = None, ancestor: int | None = None) -> None:
    """KILL them all.

    With an ancestor they are stopped first, until no new one appears: the death of one would hide its descendants.
    """
    stopped: set[int] = set()
    for _ in range(_ROUNDS if ancestor is not None else 0):
        found = members(mark, session, ancestor)
        if found <= stopped:
            break
        tell(found - stopped, signal.SIGSTOP)
        stopped |= found
    tell(stopped, signal.SIGKILL)
    for _ in range(_ROUNDS):
        found = members(mark, session, ancestor)
        if not found:
            return
        tell(found, signal.SIGKILL)


def tell(processes: set[int], number: int) -> None:
    """Send them a signal; those that have ended in between, or are out of reach, are passed over."""
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _environment(process: int) -> list[bytes]:
    try:
        return (_PROC / str(process) / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is somebody else's
        return []


def has_living_member(group: int) -> bool:
    """Whether a member of a process group is more than a zombie: the kernel still counts those, and the init of a
    container may never reap them. True where there is no /proc to look into."""
    everyone = list(living())
    return not everyone or any(one.group == group for one in everyone)
