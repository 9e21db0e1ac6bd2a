"""What is said of a path that names no file or folder: the near name beside it, a pipe that nobody would write to."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Final

_MOST: Final = 2_000
"""Names of a folder that are compared."""
_PASSED: Final = ("/dev/", "/proc/")


def near_path(path: Path, *, is_folder: bool = False) -> str:
    """The end of a message about a path that is not there: "; did you mean 'story.yaml'?"; "" where nothing is near."""
    try:
        names = list(islice(_names(path.parent, is_folder=is_folder), _MOST))
    except (OSError, ValueError):
        return ""
    near = get_close_matches(path.name, names, n=1, cutoff=0.7)
    return f"; did you mean {str(path.parent / near[0])!r}?" if near else ""


def _names(folder: Path, *, is_folder: bool) -> Iterator[str]:
    return (one.name for one in folder.iterdir() if (one.is_dir() if is_folder else one.is_file()))


def is_pipe(path: Path) -> bool:
    """Whether a path names a pipe, whose opening could wait for ever; not one that the shell passes (`<(…)`)."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode) and not str(path).startswith(_PASSED)
    except (OSError, ValueError):
        return False


def why_unwritable(path: Path) -> str | None:
    """Why no file can be written there, with the path; None where it can, as far as can be seen without trying."""
    try:
        return _why_unwritable(path)
    except (OSError, ValueError) as error:  # a folder that may not be looked into, a name too long
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
