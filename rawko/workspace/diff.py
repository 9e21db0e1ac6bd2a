"""What differs between two stored trees: the changed paths with line counts, and the text that git prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pygit2
from pygit2.enums import DeltaStatus, DiffOption

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import FileChange
from rawko.workspace.names import to_text

_KINDS: dict[DeltaStatus, Literal["added", "deleted"]] = {DeltaStatus.ADDED: "added", DeltaStatus.DELETED: "deleted"}


def changes(repository: pygit2.Repository, before: str, after: str) -> tuple[FileChange, ...]:
    """Paths that differ, sorted by path, with the lines that a unified diff adds and removes.

    A path that changes its type (a file that becomes a link) is one modification.

    Raises:
        WorkspaceError: A tree is not in the store.
    """
    found: dict[str, FileChange] = {}
    for patch in _patches(repository, before, after):
        change = _change(patch)
        other = found.get(change.path)
        found[change.path] = change if other is None else _join(other, change)
    return tuple(found[path] for path in sorted(found))


def unified(repository: pygit2.Repository, before: str, after: str) -> bytes:
    """The unified diff as `git diff` prints it; contents are the files' own bytes, odd names are quoted.

    Raises:
        WorkspaceError: A tree is not in the store.
    """
    return b"".join(_text(patch) for patch in _patches(repository, before, after))


def _text(patch: pygit2.Patch) -> bytes:
    """One file's part. libgit2 departs from git in three things.

    Where only the mode changes, git does not call the contents different. It leaves out `---` and `+++` where there are
    no lines to show (an empty file), and ends them with a tab where the name holds a blank, so that `patch` knows where
    the name ends.
    """
    data: bytes = patch.data
    if patch.delta.old_file.id == patch.delta.new_file.id:
        return b"".join(data.splitlines(keepends=True)[:3])
    if patch.delta.is_binary:
        return data
    head, mark, hunks = data.partition(b"\n@@ ")
    if not mark:
        return head.partition(b"\n--- ")[0].removesuffix(b"\n") + b"\n"
    *above, old, new = head.split(b"\n")
    return b"\n".join((*above, _with_tab(old), _with_tab(new))) + mark + hunks


def _with_tab(line: bytes) -> bytes:
    return line + b"\t" if b" " in line[4:] else line


def _patches(repository: pygit2.Repository, before: str, after: str) -> Iterator[pygit2.Patch]:
    old, new = _tree(repository, before), _tree(repository, after)
    try:
        difference = old.diff_to_tree(new, flags=DiffOption.NORMAL, context_lines=3, interhunk_lines=0)
        for patch in difference:
            if patch is not None:
                yield patch
    except (pygit2.GitError, KeyError) as error:
        raise WorkspaceError(f"trees {before} and {after} cannot be compared: {error}") from error


def _tree(repository: pygit2.Repository, name: str) -> pygit2.Tree:
    """The tree of this id, or of the commit of this id."""
    try:
        found = repository.get(pygit2.Oid(hex=name))
        if found is not None:
            return found.peel(pygit2.Tree)
    except (pygit2.GitError, ValueError) as error:
        raise WorkspaceError(f"{name!r} names no tree of the snapshot store: {error}") from error
    raise WorkspaceError(f"tree {name!r} is not in the snapshot store; known are the trees of its snapshots")


def _change(patch: pygit2.Patch) -> FileChange:
    delta = patch.delta
    _, added, removed = patch.line_stats
    return FileChange(
        path=to_text(delta.new_file.raw_path or delta.old_file.raw_path),
        kind=_KINDS.get(delta.status, "modified"),
        added_lines=added,
        removed_lines=removed,
        is_binary=bool(delta.is_binary),
    )


def _join(one: FileChange, other: FileChange) -> FileChange:
    return FileChange(
        path=one.path,
        kind="modified",
        added_lines=one.added_lines + other.added_lines,
        removed_lines=one.removed_lines + other.removed_lines,
        is_binary=one.is_binary or other.is_binary,
    )
