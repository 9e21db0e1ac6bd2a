"""This machine, and the process of an earlier attempt on it that may still hold a run's files."""

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
"""Of /proc/PID/stat after the name: when the process started, in ticks since the machine did."""
_GONE_S: Final = 5.0


@cache
def host_id() -> str:
    """This machine since it was started, and the processes that are seen from here: a container is one of its own."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def started_at(process: int) -> str:
    """When a process of this machine started, in the kernel's words; "" of one that is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[_START_FIELD].decode("ascii") if len(fields) > _START_FIELD else ""


def end_earlier(place: Mapping[str, Any] | None) -> bool:
    """End the process of an earlier attempt on this machine, which is frozen or no longer its worker's.

    Args:
        place: Of the task's record. A process that has its number by chance has another start, and is left alone.

    Returns:
        Whether there was one.
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
