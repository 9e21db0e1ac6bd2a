"""Names of files: bytes inside, text with surrogate escapes at the border.

A path inside is a tuple of components (`Parts`), or the same joined by `/`. Which names are never captured is
`rawko.patterns.exclusions`'s.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from rawko.runtime.ports import WorkspaceError

Parts: TypeAlias = tuple[bytes, ...]

_RUN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")


def to_parts(path: str) -> Parts:
    """The components of a workspace-relative path; `.` and empty components vanish, the root is `()`.

    Raises:
        WorkspaceError: The path is absolute, climbs with `..`, or holds a NUL.
    """
    raw = to_bytes(path)
    parts = tuple(part for part in raw.split(b"/") if part not in (b"", b"."))
    if raw.startswith(b"/") or b".." in parts or b"\0" in raw:
        raise WorkspaceError(
            f"path {path!r} is not workspace-relative; accepted are paths such as 'src/main.py',"
            " without a leading '/' and without '..'",
            path=path,
        )
    return parts


def to_bytes(path: str) -> bytes:
    """The bytes that the system knows a text path by."""
    return path.encode("utf-8", "surrogateescape")


def to_text(path: bytes) -> str:
    """The path as the vocabulary spells it: UTF-8, other bytes as surrogate escapes."""
    return path.decode("utf-8", "surrogateescape")


def check_run(run: str) -> str:
    """The name of a run, if a git reference can carry it.

    Raises:
        WorkspaceError: It cannot.
    """
    if not _RUN.fullmatch(run) or ".." in run or run.endswith(".lock") or len(run) > 200:
        raise WorkspaceError(
            f"run name {run!r} cannot name a git reference; accepted are letters, digits, '_', '-' and"
            " single inner '.', at most 200 characters, not ending in '.lock'"
        )
    return run
