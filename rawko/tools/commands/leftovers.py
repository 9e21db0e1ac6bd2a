"""Finds and ends commands that outlived rawko (after kill -9), by notes on disk that are made while they run.

A note names a process, its start time, its mark, and the rawko that started it. At the next start, rawko ends the
process group, the descendants, and all processes that carry the mark. The system may reuse a process id, but not with
the same start time, so other programs are not ended; neither are commands of another rawko that still runs in the same
folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from rawko.processes import family
from rawko.processes.private import make_private, write_private

_GONE_S = 5.0
_POLL_S = 0.02
_MAX_PROCESS = 2**31 - 1


class Leftovers:
    """Notes of running process groups, one file each.

    Args:
        folder: A folder in the state folder; made at the first note.
        owner: The process that starts the groups; this one by default.
    """

    def __init__(self, folder: Path, *, owner: int | None = None) -> None:
        self._folder = folder
        self._owner = owner
        self._is_made = False

    def note(self, group: int, mark: str = "") -> None:
        """Record that a group has started. If the disk refuses the note, a crash leaves the group undetected.

        Args:
            mark: `NAME=value`, in the environment of all processes of the group.
        """
        start = _start_of(group)
        if start is not None:
            begun = _start_of(self._owner) if self._owner else _own_start(os.getpid())
            note = f"{start}\n{self._owner or os.getpid()} {begun}\n{mark}\n".encode("ascii")
            with suppress(OSError):
                self._write(str(group), note)

    def _write(self, name: str, note: bytes) -> None:
        if not self._is_made:
            make_private(self._folder)
            self._is_made = True
        try:
            write_private(self._folder / name, note)
        except FileNotFoundError:  # the folder was removed meanwhile
            make_private(self._folder)
            write_private(self._folder / name, note)

    def forget(self, group: int) -> None:
        """Remove the note of a group that has ended."""
        with suppress(OSError):
            (self._folder / str(group)).unlink(missing_ok=True)

    def end_all(self) -> tuple[int, ...]:
        """KILL every noted group that still exists and whose rawko has ended; returns the ids of the groups, after
        their processes have ended."""
        if not self._folder.is_dir():
            return ()
        ended = []
        for path in sorted(path for path in self._folder.iterdir() if _is_process(path.name)):
            try:
                start, owner, mark, *_ = [*path.read_text(encoding="ascii", errors="replace").split("\n"), "", "", ""]
            except OSError:  # the group has just ended, and its rawko removed the note
                continue
            if _is_at_work(owner):
                continue
            if _end(int(path.name), start, mark):
                ended.append(int(path.name))
            path.unlink(missing_ok=True)
        return tuple(ended)


def _is_process(name: str) -> bool:
    return name.isascii() and name.isdigit() and int(name) <= _MAX_PROCESS


def _is_at_work(owner: str) -> bool:
    """Whether the rawko process of a note still runs."""
    process, _, start = owner.strip().partition(" ")
    return _is_process(process) and _start_of(int(process)) == start


def _end(group: int, noted: str, mark: str) -> bool:
    start = _start_of(group)
    is_ours = (start is None or start == noted) and group > 1 and group != os.getpgrp()  # else the id was reused
    ancestor = group if is_ours and start is not None else None
    is_left = bool(mark or ancestor) and bool(family.members(mark, ancestor=ancestor))
    if is_left:
        family.end(mark, ancestor=ancestor)
    if is_ours:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
            is_left = True
    until = time.monotonic() + _GONE_S
    while is_left and time.monotonic() < until and (_is_alive(group, is_ours) or (mark and family.members(mark))):
        time.sleep(_POLL_S)
    return is_left


def _is_alive(group: int, is_ours: bool) -> bool:
    if not is_ours:
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return family.has_living_member(group)


@lru_cache(maxsize=1)
def _own_start(process: int) -> str | None:
    """The start time of this process, by its id: a fork has another start time."""
    return _start_of(process)


def _start_of(process: int) -> str | None:
    """The start time of a process, as the system prints it; None if it does not exist or is a zombie."""
    if Path("/proc/self/stat").exists():
        found = family.look_up(process)
        return None if found is None else found.start
    asked = ["ps", "-o", "lstart=", "-p", str(process)]
    shown = subprocess.run(asked, capture_output=True, text=True, check=False, env={"PATH": os.defpath})
    return shown.stdout.strip() or None
