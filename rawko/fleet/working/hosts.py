"""Identifies this machine, and ends processes of earlier attempts on it that may still use a run's files."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

_START_FIELD: Final = 19
"""Index in /proc/PID/stat after the name: start time of the process, in ticks since boot."""
_GONE_S: Final = 5.0


@cache
def host_id() -> str:
    """Identifies this machine since its boot, and its process namespace: a container has its own."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def started_at(process: int) -> str:
    """The start time of a process of this machine, as the kernel prints it; "" if it does not exist."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[_START_FIELD].decode("ascii") if len(fields) > _START_FIELD else ""


def end_earlier(place: Mapping[str, Any] | None) -> bool:
    """End the process of an earlier attempt on this machine, which is frozen or has lost its claim.

    Args:
        place: Of the task's record. Another process with the same id has another start time, and is left alone.

    Returns:
        Whether there was such a process.
    """
    if not place or place.get("host") != host_id():
        return False
    process, started = place.get("pid"), place.get("started")
    if not isinstance(process, int) or process <= 1 or not started or started_at(process) != started:
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)
    until = time.monotonic() + _GONE_S
    while started_at(process) == started and time.monotonic() < until and not _is_zombie(process):
        time.sleep(0.01)
    return True


def _is_zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True
