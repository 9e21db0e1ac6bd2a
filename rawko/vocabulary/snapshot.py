"""Workspace snapshots and the changes between them, as data."""

from __future__ import annotations

from typing import Literal

from rawko.vocabulary.base import Data


class FileChange(Data):
    """One path that differs. `path` is workspace-relative, with "/"; bytes that are not UTF-8 are surrogate escapes."""

    path: str
    kind: Literal["added", "modified", "deleted"]
    added_lines: int = 0
    removed_lines: int = 0
    is_binary: bool = False


class ChangedFiles(Data):
    """Paths that differ, for a message: a bounded number, sorted; `more` counts the others."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    more: int = 0


class Snapshot(Data):
    """The whole workspace at one moment: a git tree, referenced by a commit of the private store."""

    tree: str
    commit: str
    label: str = ""
    skipped: tuple[str, ...] = ()
    """Paths that were not captured: unreadable, over the size limit."""
