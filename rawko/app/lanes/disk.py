"""Measures the disk space of a lane's folder while the lane runs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PERIOD_S: Final = 1.0
"""Shortest time between two measurements, in seconds; after a slow measurement the pause is longer."""
_SHARE: Final = 20
"""Shortest pause after a measurement, as a multiple of the measurement's duration."""


def bytes_in(folders: Sequence[Path]) -> int:
    """Bytes that the folders take on the disk; a file with several hard links counts once."""
    total, seen, waiting = 0, set(), [str(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif found.st_nlink > 1:
                        if (found.st_dev, found.st_ino) in seen:
                            continue
                        seen.add((found.st_dev, found.st_ino))
                    total += found.st_blocks * 512
        except OSError:  # a command has removed the file since the folder was listed
            continue
    return total


async def until_too_large(folders: Sequence[Path], most: int, *, period_s: float = PERIOD_S) -> int:
    """Measure repeatedly; returns the number of bytes once there are more than `most`."""
    while True:
        started = time.monotonic()
        found = await asyncio.to_thread(bytes_in, folders)
        if found > most:
            return found
        await asyncio.sleep(max(period_s, _SHARE * (time.monotonic() - started)))
