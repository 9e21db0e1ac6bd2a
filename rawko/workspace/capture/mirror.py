"""The mirror: the captured tree in memory, with each file's signature when it was read.

It replaces git's index: a change costs one blob and the trees above it, and a file with an unchanged signature is not
read again. `full_scan` and `hinted_scan` read the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from rawko.workspace.names import Parts
from rawko.workspace.repository.objects import MODE_FOLDER, Objects, TreeEntry

Signature: TypeAlias = tuple[int, int, int, int, int]
"""Distinguishes changed files from unchanged ones: mtime and ctime in ns, size in bytes, inode, mode."""


signature: Callable[[os.stat_result], Signature] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_mode"
)
"""The signature of a stat result. Most of a full scan's time is spent here: an attrgetter takes half the time of a
function.
"""


class File(NamedTuple):
    """A captured file or link. `signature` is None if it proves nothing (loaded from a tree, or racy)."""

    mode: int
    oid: bytes
    signature: Signature | None = None


class Folder:
    """A folder of the mirror. `oid` is None until the tree of its present contents is stored."""

    __slots__ = ("files", "folders", "oid")

    def __init__(self) -> None:
        self.files: dict[bytes, File] = {}
        self.folders: dict[bytes, Folder] = {}
        self.oid: bytes | None = None

    def forget(self, name: bytes) -> bool:
        """Drop a file or folder; whether it was there."""
        found = name in self.files or name in self.folders
        self.files.pop(name, None)
        self.folders.pop(name, None)
        return found

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.folders


class Mirror:
    """A whole tree."""

    def __init__(self, root: Folder | None = None) -> None:
        self.root = root or Folder()

    @classmethod
    def load(cls, objects: Objects, tree: bytes) -> Mirror:
        """The mirror of a stored tree, without signatures: the first scan reads every file.

        Raises:
            KeyError: An object is missing.
        """
        return cls(_load(objects, tree))

    def write(self, objects: Objects) -> bytes:
        """Store the trees of all folders that changed; return the 20 bytes of the root's id.

        Folders without files are dropped: git trees cannot contain them.
        """
        if self.root.oid is None:
            _prune(self.root)
        return _write(self.root, objects)

    def file(self, parts: Parts) -> File | None:
        """The captured file at a path, if any."""
        folder: Folder | None = self.root
        for name in parts[:-1]:
            folder = folder.folders.get(name) if folder else None
        return folder.files.get(parts[-1]) if folder and parts else None

    def put(self, parts: Parts, file: File | None) -> None:
        """Set the file at a path, or drop the file or folder there."""
        chain = [self.root]
        for name in parts[:-1]:
            if file is not None:
                chain[-1].files.pop(name, None)
                chain.append(chain[-1].folders.setdefault(name, Folder()))
            elif name in chain[-1].folders:
                chain.append(chain[-1].folders[name])
            else:
                return
        chain[-1].forget(parts[-1])
        if file is not None:
            chain[-1].files[parts[-1]] = file
        for folder in chain:
            folder.oid = None

    def set_tree_ids(self, trees: Mapping[Parts, bytes]) -> None:
        """Set the ids of folders whose trees are known to be stored."""
        for parts, tree in trees.items():
            folder = self.root
            for name in parts:
                folder = folder.folders[name]
            folder.oid = tree

    def __iter__(self) -> Iterator[tuple[bytes, File]]:
        """All files as (path, file), in no particular order."""
        return _walk(self.root, b"")


def _load(objects: Objects, tree: bytes) -> Folder:
    folder = Folder()
    folder.oid = tree
    for name, mode, oid in objects.read_tree(tree):
        if mode == MODE_FOLDER:
            folder.folders[name] = _load(objects, oid)
        else:
            folder.files[name] = File(mode, oid)
    return folder


def _write(folder: Folder, objects: Objects) -> bytes:
    if folder.oid is not None:
        return folder.oid
    entries: list[TreeEntry] = [(name, file[0], file[1]) for name, file in folder.files.items()]
    entries += [(name, MODE_FOLDER, child.oid or _write(child, objects)) for name, child in folder.folders.items()]
    folder.oid = objects.write_tree(entries)
    return folder.oid


def _prune(folder: Folder) -> None:
    """Drop subfolders without files before a folder is stored; stored folders have none."""
    for name, child in [(name, child) for name, child in folder.folders.items() if child.oid is None]:
        _prune(child)
        if child.is_empty:
            del folder.folders[name]


def _walk(folder: Folder, prefix: bytes) -> Iterator[tuple[bytes, File]]:
    for name, file in folder.files.items():
        yield prefix + name, file
    for name, child in folder.folders.items():
        yield from _walk(child, prefix + name + b"/")
