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


class StepChange(Data):
    """What a path that one step has written has come to since a first tree; "unchanged" where it is as it was there."""

    path: str
    kind: Literal["added", "modified", "deleted", "unchanged"]
    added_lines: int = 0
    removed_lines: int = 0
    is_binary: bool = False


class ChangedFiles(Data):
    """Paths that differ, for a message: a bounded number, sorted; `more` counts the others."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    more: int = 0


Fate = Literal["added", "modified", "deleted", "unchanged", "unknown"]


class Conflict(Data):
    """A path on which two sides have worked in ways that do not fit together; what each has done since their base.

    "unchanged" is the side that stands in the way of a file by its place alone: it has a folder there. "unknown" is
    what was not captured.
    """

    path: str
    here: Fate
    there: Fate


class Snapshot(Data):
    """The whole workspace at one moment: a git tree, referenced by a commit of the private store."""

    tree: str
    commit: str
    label: str = ""
    skipped: tuple[str, ...] = ()
    """Paths that were not captured: unreadable, over the size limit."""
