"""Folders and files that only their owner may read, whatever the umask is; rawko's state lies in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, TextIO

FOLDER: Final = 0o700
FILE: Final = 0o600


def make_private(folder: Path) -> Path:
    """Make a folder and its missing parents for this user alone; an existing folder loses others' rights.

    Raises:
        OSError: The folder cannot be made, or the path is not a folder.
    """
    missing = []
    place = folder
    while not place.exists() and place.parent != place:
        missing.append(place)
        place = place.parent
    for new in reversed(missing):
        new.mkdir(mode=FOLDER, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir()  # raises the system's own error
    narrow(folder, FOLDER)
    return folder


def narrow(path: Path, mode: int) -> None:
    """Remove others' rights on a file or folder of this user; one of another user is left unchanged."""
    info = path.stat()
    if info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) & ~mode:
        path.chmod(stat.S_IMODE(info.st_mode) & mode)


def touch_private(path: Path) -> None:
    """Make an empty file for this user alone if it is missing; remove others' rights if it exists.

    Raises:
        OSError: The file cannot be made.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE))
    narrow(path, FILE)


def write_private(path: Path, data: bytes) -> None:
    """Write a file for this user alone; an existing one loses its contents and others' rights.

    Raises:
        OSError: The file cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE)
    try:
        info = os.fstat(descriptor)
        if info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) & ~FILE:
            os.fchmod(descriptor, stat.S_IMODE(info.st_mode) & FILE)
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def append_private(path: Path, *, errors: str = "strict") -> TextIO:
    """Open a text file for appending, readable for this user alone.

    Raises:
        OSError: The file cannot be opened.
    """
    touch_private(path)
    return path.open("a", encoding="utf-8", errors=errors)
