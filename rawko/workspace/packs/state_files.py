"""The files of a state folder that are sent with a run, as a git tree: records, outputs, notes, modes and owners.

Left out: the snapshots (sent as objects), journals, locks, records of running processes, folders of lanes, a
pointer to another state folder, and everything that is no regular file.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rawko.workspace.repository.objects import MODE_FILE, MODE_FOLDER, Objects, TreeEntry

MOST_BYTES: Final = 64 * 1024 * 1024
"""Larger files are not sent."""
_TICK_NS: Final = 50_000_000
"""Resolution of file times: a file written less than this ago may change again without a new time."""
_LEFT_OUT: Final = frozenset((b"running", b"lanes", b"explorations", b"evaluations", b"elsewhere", b"tmp"))
_SNAPSHOTS: Final = b"snapshots"
_OF_SNAPSHOTS: Final = (b".modes", b".owners")
_NOT: Final = (b".lock", b".restore", b".db", b".db-wal", b".db-shm")


def is_ours(folders: Sequence[bytes], name: bytes, *, is_folder: bool) -> bool:
    """Whether a state folder that is sent can hold this name: of the snapshots' folder, which is a repository whose
    settings are obeyed, only the files beside the repository.

    Args:
        folders: The folders on the way, from the state folder; names in another case may be the same on a disk.
    """
    way = [one.lower() for one in folders]
    if not is_folder and name.lower().endswith(_NOT):
        return False
    if not way:
        return name.lower() not in _LEFT_OUT
    return way[0] != _SNAPSHOTS or (len(way) == 1 and not is_folder and name.lower().endswith(_OF_SNAPSHOTS))


class StateFiles:
    """Reads a state folder; unchanged files are not read again, and unchanged folders are not written again."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fsencode(folder)
        self._known: dict[bytes, tuple[tuple[int, int, int], bytes]] = {}
        self._trees: dict[bytes, tuple[list[TreeEntry], bytes]] = {}

    def tree(self, objects: Objects) -> bytes:
        """The tree of the present files; all its objects are in the store.

        Raises:
            WorkspaceError: The store cannot be written.
        """
        return self._tree(objects, self._folder, is_top=True)

    def forget(self) -> None:
        """Read and write everything next time: a cleaning may have dropped the objects."""
        self._known.clear()
        self._trees.clear()

    def _tree(self, objects: Objects, folder: bytes, *, is_top: bool = False) -> bytes:
        entries: list[TreeEntry] = []
        for name, seen in _listing(folder):
            path = folder + b"/" + name
            if is_top and name in _LEFT_OUT:
                continue
            if stat.S_ISDIR(seen.st_mode):
                if is_top and name == _SNAPSHOTS:
                    entries.append((name, MODE_FOLDER, self._of_snapshots(objects, path)))
                else:
                    entries.append((name, MODE_FOLDER, self._tree(objects, path)))
            elif stat.S_ISREG(seen.st_mode) and not name.endswith(_NOT) and (oid := self._file(objects, path, seen)):
                entries.append((name, MODE_FILE, oid))
        return self._written(objects, folder, entries)

    def _of_snapshots(self, objects: Objects, folder: bytes) -> bytes:
        entries = [
            (name, MODE_FILE, oid)
            for name, seen in _listing(folder)
            if name.endswith(_OF_SNAPSHOTS)
            and stat.S_ISREG(seen.st_mode)
            and (oid := self._file(objects, folder + b"/" + name, seen))
        ]
        return self._written(objects, folder, entries)

    def _written(self, objects: Objects, folder: bytes, entries: list[TreeEntry]) -> bytes:
        known = self._trees.get(folder)
        if known is not None and known[0] == entries:
            return known[1]
        tree = objects.write_tree(entries)
        self._trees[folder] = (entries, tree)
        return tree

    def _file(self, objects: Objects, path: bytes, seen: os.stat_result) -> bytes | None:
        stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        if seen.st_size > MOST_BYTES:
            return None
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:  # it was removed in the meantime
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            oid = objects.write_blob(file.read())
        if time.time_ns() - seen.st_mtime_ns > _TICK_NS:
            self._known[path] = (stamp, oid)
        return oid


def _listing(folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    try:
        with os.scandir(folder) as listing:
            for one in sorted(listing, key=lambda entry: entry.name):
                try:
                    yield one.name, one.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
    except (FileNotFoundError, NotADirectoryError):
        return
