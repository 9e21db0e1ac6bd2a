"""Parts of error messages about paths: a similar name in the same folder; why a file cannot be written there; which
link leads out of a folder."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Final

_MOST: Final = 2_000
"""The most names of a folder that are compared."""
_PASSED: Final = ("/dev/", "/proc/")


def near_path(path: Path, *, is_folder: bool = False) -> str:
    """The end of a message about a missing path: "; did you mean 'story.yaml'?", or "" where no name is similar."""
    try:
        names = list(islice(_names(path.parent, is_folder=is_folder), _MOST))
    except (OSError, ValueError):
        return ""
    near = get_close_matches(path.name, names, n=1, cutoff=0.7)
    return f"; did you mean {str(path.parent / near[0])!r}?" if near else ""


def _names(folder: Path, *, is_folder: bool) -> Iterator[str]:
    return (one.name for one in folder.iterdir() if (one.is_dir() if is_folder else one.is_file()))


def is_pipe(path: Path) -> bool:
    """Whether a path is a named pipe, which may block for ever when opened; pipes that the shell passes (`<(…)`) are
    not."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode) and not str(path).startswith(_PASSED)
    except (OSError, ValueError):
        return False


def link_out(folder: Path, path: Path) -> Path | None:
    """Where a path below a folder really leads, if a link on the way leads out of the folder; else None.

    Links inside the folder, and those on the way to the folder itself, lead nowhere else.
    """
    try:
        real = (folder / path).resolve()
        return None if real.is_relative_to(folder.resolve()) else real
    except (OSError, RuntimeError):  # links in a circle: opening it fails
        return None


def why_unwritable(path: Path) -> str | None:
    """Why a file cannot be written at this path, as a message; None where nothing visible prevents it."""
    try:
        return _why_unwritable(path)
    except (OSError, ValueError) as error:  # a folder without permission to read, a name too long
        return f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}"


def _why_unwritable(path: Path) -> str | None:
    if not path.parent.is_dir():
        is_other = path.parent.exists()
        return (
            f"{path}: {str(path.parent)!r} is no folder"
            if is_other
            else f"{path}: there is no folder {str(path.parent)!r}"
        )
    if path.is_dir():
        return f"{path}: cannot be written: it is a folder; accepted: the name of a file"
    if is_pipe(path):
        return f"{path}: cannot be written: it is a pipe; accepted: the name of a file"
    if path.is_symlink() and not path.resolve().parent.is_dir():
        folder = str(path.resolve().parent)
        return f"{path}: cannot be written: it is a link, and there is no folder {folder!r}"
    return None
