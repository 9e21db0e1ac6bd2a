"""Which objects a repository has beyond what was known: by comparing trees, so that it costs what has changed."""

from __future__ import annotations

from collections.abc import Collection

import pygit2

from rawko.workspace.repository.history import read_commit
from rawko.workspace.repository.objects import EMPTY_TREE, MODE_FOLDER, Objects


def new_since(
    repository: pygit2.Repository, objects: Objects, tips: Collection[str], known: Collection[str]
) -> set[bytes]:
    """Commits, trees and contents that lead from known commits to others, or all that these need.

    Args:
        tips: Commits, as 40 hex digits.
        known: Commits whose history is not looked at.

    Raises:
        KeyError, pygit2.GitError: An object is missing.
    """
    found: set[bytes] = set()
    seen, todo = set(known), list(tips)
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        commit = read_commit(repository, objects, name)
        found.add(bytes.fromhex(name))
        parents = [str(parent) for parent in commit.parent_ids]
        before = read_commit(repository, objects, parents[0]).tree_id.raw if parents else None
        add_changed(objects, None if before is None else bytes(before), bytes(commit.tree_id.raw), found)
        todo += parents
    return found


def add_changed(objects: Objects, old: bytes | None, new: bytes, found: set[bytes]) -> None:
    """Add the objects of a tree that another one lacks at the same places."""
    if new == old or new in found:
        return
    if new != EMPTY_TREE or objects.has(new):
        found.add(new)
    before = {} if old is None else {name: (mode, oid) for name, mode, oid in objects.read_tree(old)}
    for name, mode, oid in objects.read_tree(new):
        was = before.get(name)
        if was == (mode, oid):
            continue
        if mode == MODE_FOLDER:
            is_folder = was is not None and was[0] == MODE_FOLDER
            add_changed(objects, was[1] if was is not None and is_folder else None, oid, found)
        else:
            found.add(oid)
