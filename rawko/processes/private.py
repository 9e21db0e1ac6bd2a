"""Folders and files that only their owner may read, whatever the umask says: where rawko keeps what it remembers."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, TextIO

FOLDER: Final = 0o700
FILE: Final = 0o600


def make_private(folder: Path) -> Path:
    """Make a folder, and those above it that are missing, for this user alone; one that is there is narrowed.

    Raises:
        OSError: It cannot be made, or something else is there.
    """
    missing = []
    place = folder
    while not place.exists() and place.parent != place:
        missing.append(place)
        place = place.parent
    for new in reversed(missing):
        new.mkdir(mode=FOLDER, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir()  # raises in the system's own words
    narrow(folder, FOLDER)
    return folder


def narrow(path: Path, mode: int) -> None:
    """Take from others what they may do with a file or folder of this user's; what is somebody else's stays."""
    info = path.stat()
    if info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) & ~mode:
        path.chmod(stat.S_IMODE(info.st_mode) & mode)


def touch_private(path: Path) -> None:
    """Make an empty file for this user alone where there is none, and narrow one that is there.

    Raises:
        OSError: It cannot be made.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE))
    narrow(path, FILE)


def append_private(path: Path, *, errors: str = "strict") -> TextIO:
    """A text file to append to, for this user alone.

    Raises:
        OSError: It cannot be opened.
    """
    touch_private(path)
    return path.open("a", encoding="utf-8", errors=errors)
