"""Commands that outlived rawko itself (kill -9): noted on disk while they run, found and ended at the next start.

A note names the process group and when its first process started, and the same of the rawko that started it: nobody
else's group is ever ended, because a process id may be given out again, but not with the same start; and neither is
that of a rawko which is still at work in the same folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from rawko.tools.group import has_living_member

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

    def note(self, group: int) -> None:
        """A group has started. Without a note (a full disk) it is only not found after a crash."""
        start = _start_of(group)
        if start is not None:
            owner = self._owner or os.getpid()
            with suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                (self._folder / str(group)).write_text(f"{start}\n{owner} {_start_of(owner)}\n", encoding="ascii")

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
                start, _, owner = path.read_text(encoding="ascii", errors="replace").partition("\n")
            except OSError:  # it has just ended, and its rawko forgot it
                continue
            if _is_at_work(owner):
                continue
            if _end(int(path.name), start):
                ended.append(int(path.name))
            path.unlink(missing_ok=True)
        return tuple(ended)


def _is_process(name: str) -> bool:
    return name.isascii() and name.isdigit() and int(name) <= _MAX_PROCESS


def _is_at_work(owner: str) -> bool:
    """Whether the rawko of a note still runs."""
    process, _, start = owner.strip().partition(" ")
    return _is_process(process) and _start_of(int(process)) == start


def _end(group: int, noted: str) -> bool:
    start = _start_of(group)
    if start is not None and start != noted:
        return False  # the id belongs to somebody else now
    if group <= 1 or group == os.getpgrp():
        return False
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    until = time.monotonic() + _GONE_S
    while time.monotonic() < until and _is_alive(group):
        time.sleep(_POLL_S)
    return True


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return has_living_member(group)


def _start_of(process: int) -> str | None:
    """When a process started, in words of the system; None if it is not there, or is a zombie."""
    stat = Path(f"/proc/{process}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in ("Z", "X") else fields[19]
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(process)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or None
