"""Finds the objects that new commits need beyond known ones, by comparing trees: the cost depends on the changes
only.
"""

from __future__ import annotations

from collections.abc import Collection

from rawko.workspace.repository.objects import EMPTY_TREE, MODE_FOLDER, Objects, TreeEntry, tree_entries


def new_since(objects: Objects, tips: Collection[str], known: Collection[str]) -> set[bytes]:
    """The commits, trees and contents that are reachable from `tips` but not from `known`.

    Args:
        tips: Commits, as 40 hex digits.
        known: Commits at which the walk through the history stops.

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
        oid = bytes.fromhex(name)
        found.add(oid)
        tree, parents = _links(objects, oid)
        before = _links(objects, bytes.fromhex(parents[0]))[0] if parents else None
        add_changed(objects, before, tree, found)
        todo += parents
    return found


def _links(objects: Objects, oid: bytes) -> tuple[bytes, list[str]]:
    """The tree of a commit, and its parents."""
    head = objects.latest(oid)[1].partition(b"\n\n")[0].decode("ascii", "replace").split("\n")
    told = [line.partition(" ") for line in head]
    if told[0][0] != "tree":
        raise KeyError(f"{oid.hex()} is no commit")
    return bytes.fromhex(told[0][2]), [name for kind, _, name in told if kind == "parent"]


def _entries(objects: Objects, oid: bytes) -> list[TreeEntry]:
    return [] if oid == EMPTY_TREE else tree_entries(oid, objects.latest(oid)[1])


def add_changed(objects: Objects, old: bytes | None, new: bytes, found: set[bytes]) -> None:
    """Add to `found` the objects of a tree that differ from the other tree at the same path."""
    if new == old or new in found:
        return
    if new != EMPTY_TREE or objects.has(new):
        found.add(new)
    before = {} if old is None else {name: (mode, oid) for name, mode, oid in _entries(objects, old)}
    for name, mode, oid in _entries(objects, new):
        was = before.get(name)
        if was == (mode, oid):
            continue
        if mode == MODE_FOLDER:
            is_folder = was is not None and was[0] == MODE_FOLDER
            add_changed(objects, was[1] if was is not None and is_folder else None, oid, found)
        else:
            found.add(oid)
