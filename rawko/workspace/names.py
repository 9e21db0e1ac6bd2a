"""Names of files: bytes inside, text with surrogate escapes outside.

Inside, a path is a tuple of components (`Parts`), or these joined by `/`. `rawko.patterns.exclusions` has the names
that are never captured.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from rawko.runtime.ports import WorkspaceError

Parts: TypeAlias = tuple[bytes, ...]

_RUN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")


def to_parts(path: str) -> Parts:
    """The components of a workspace-relative path; `.` and empty components are dropped; the root is `()`.

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
    """The bytes that the system uses for a path."""
    return path.encode("utf-8", "surrogateescape")


def to_text(path: bytes) -> str:
    """The path as the vocabulary writes it: UTF-8, other bytes as surrogate escapes."""
    return path.decode("utf-8", "surrogateescape")


def check_run(run: str) -> str:
    """The name of a run, checked to be valid in a git reference.

    Raises:
        WorkspaceError: The name is not valid.
    """
    if not _RUN.fullmatch(run) or ".." in run or run.endswith(".lock") or len(run) > 200:
        raise WorkspaceError(
            f"run name {run!r} cannot name a git reference; accepted are letters, digits, '_', '-' and"
            " single inner '.', at most 200 characters, not ending in '.lock'"
        )
    return run
