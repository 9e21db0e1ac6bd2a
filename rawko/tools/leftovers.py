"""Commands that outlived rawko itself (kill -9): noted on disk while they run, found and ended at the next start.

A note names the process group and when its first process started, so that nobody else's group is ever ended: a
process id may be given out again, but not with the same start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

_GONE_S = 5.0
_POLL_S = 0.02


class Leftovers:
    """Notes of running process groups, one file each.

    Args:
        folder: In the state folder; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, group: int) -> None:
        """A group has started. Without a note (a full disk) it is only not found after a crash."""
        start = _start_of(group)
        if start is not None:
            with suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                (self._folder / str(group)).write_text(start, encoding="ascii")

    def forget(self, group: int) -> None:
        """A group has ended."""
        with suppress(OSError):
            (self._folder / str(group)).unlink(missing_ok=True)

    def end_all(self) -> tuple[int, ...]:
        """KILL every noted group that is still the one noted; their ids, once nothing of them runs."""
        if not self._folder.is_dir():
            return ()
        found = [path for path in sorted(self._folder.iterdir()) if path.name.isdigit()]
        ended = [int(path.name) for path in found if self._end(int(path.name), path)]
        for path in found:
            path.unlink(missing_ok=True)
        return tuple(ended)

    @staticmethod
    def _end(group: int, note: Path) -> bool:
        start = _start_of(group)
        if start is not None and start != note.read_text(encoding="ascii", errors="replace"):
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
    return True


def _start_of(process: int) -> str | None:
    """When a process started, in words of the system; None if it is not there."""
    stat = Path(f"/proc/{process}/stat")
    if Path("/proc/self/stat").exists():
        try:
            return stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
        except OSError:
            return None
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(process)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or None
