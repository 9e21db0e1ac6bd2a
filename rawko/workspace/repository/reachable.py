"""Finds the objects of the store that references need, and the objects in a pack."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pygit2

from rawko.workspace.repository.history import read_commit
from rawko.workspace.repository.objects import MODE_FOLDER, Objects


def objects_in(indexes: Iterable[Path]) -> set[bytes]:
    """The ids in pack indexes (gitformat-pack, version 2: 8 bytes of head, 256 counts of 4 bytes, then the sorted ids).

    Raises:
        ValueError: An index is of another version, or truncated.
    """
    found: set[bytes] = set()
    for index in indexes:
        data = index.read_bytes()
        start, count = 8 + 1024, int.from_bytes(data[8 + 1020 : 8 + 1024], "big")
        if data[:8] != b"\xfftOc\0\0\0\2" or len(data) < start + 20 * count:
            raise ValueError(f"{index.name} is no index of a pack")
        found.update(data[at : at + 20] for at in range(start, start + 20 * count, 20))
    return found


def reachable(repository: pygit2.Repository) -> set[bytes]:
    """All objects that are reachable from a reference.

    Raises:
        KeyError: An object is missing.
    """
    objects = Objects(repository)
    found: set[bytes] = set()
    commits = [str(repository.references[name].target) for name in repository.references]
    while commits:
        name = commits.pop()
        if bytes.fromhex(name) not in found:
            commit = read_commit(repository, objects, name)
            found.add(bytes(commit.id.raw))
            _add_tree(objects, bytes(commit.tree_id.raw), found)
            commits += map(str, commit.parent_ids)
    return found


def _add_tree(objects: Objects, tree: bytes, found: set[bytes]) -> None:
    if tree in found:
        return
    found.add(tree)
    for _, mode, oid in objects.read_tree(tree):
        if mode == MODE_FOLDER:
            _add_tree(objects, oid, found)
        elif oid not in found:
            objects.check(oid)
            found.add(oid)
