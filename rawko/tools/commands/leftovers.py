"""Commands that outlived rawko itself (kill -9): noted on disk while they run, found and ended at the next start.

A note names a process, when it started, its mark, and the rawko that started it. Ended are its process group, its
descendants and the bearers of the mark: a process id may be given out again, but not with the same start, so the
processes of others are left alone; and so are those of a rawko which is still at work in the same folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from rawko.processes import family
from rawko.processes.private import make_private, touch_private

_GONE_S = 5.0
_POLL_S = 0.02
_MAX_PROCESS = 2**31 - 1


class Leftovers:
    """Notes of running process groups, one file each.

    Args:
        folder: In the state folder; made when first needed.
        owner: The process that starts them; this one by default.
    """

    def __init__(self, folder: Path, *, owner: int | None = None) -> None:
        self._folder = folder
        self._owner = owner

    def note(self, group: int, mark: str = "") -> None:
        """A group has started. Without a note (a full disk) it is only not found after a crash.

        Args:
            mark: `NAME=value` of the environment of all that it starts.
        """
        start = _start_of(group)
        if start is not None:
            owner = self._owner or os.getpid()
            with suppress(OSError):
                make_private(self._folder)
                touch_private(self._folder / str(group))
                (self._folder / str(group)).write_text(
                    f"{start}\n{owner} {_start_of(owner)}\n{mark}\n", encoding="ascii"
                )

    def forget(self, group: int) -> None:
        """A group has ended."""
        with suppress(OSError):
            (self._folder / str(group)).unlink(missing_ok=True)

    def end_all(self) -> tuple[int, ...]:
        """KILL every noted group that is still the one noted, and whose rawko is gone; their ids, once nothing of
        them runs."""
        if not self._folder.is_dir():
            return ()
        ended = []
        for path in sorted(path for path in self._folder.iterdir() if _is_process(path.name)):
            try:
                start, owner, mark, *_ = [*path.read_text(encoding="ascii", errors="replace").split("\n"), "", "", ""]
            except OSError:  # it has just ended, and its rawko forgot it
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
    """Whether the rawko of a note still runs."""
    process, _, start = owner.strip().partition(" ")
    return _is_process(process) and _start_of(int(process)) == start


def _end(group: int, noted: str, mark: str) -> bool:
    start = _start_of(group)
    is_ours = (start is None or start == noted) and group > 1 and group != os.getpgrp()  # else the id is another's now
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


def _start_of(process: int) -> str | None:
    """When a process started, in words of the system; None if it is not there, or is a zombie."""
    if Path("/proc/self/stat").exists():
        found = family.look_up(process)
        return None if found is None else found.start
    asked = ["ps", "-o", "lstart=", "-p", str(process)]
    shown = subprocess.run(asked, capture_output=True, text=True, check=False, env={"PATH": os.defpath})
    return shown.stdout.strip() or None
