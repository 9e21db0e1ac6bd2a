"""What the captured files of a workspace looked like, kept on disk between processes, as git's index keeps it.

A full scan reads a file whose looks it does not know. With this index the first scan of a process reads only what has
changed since another one captured the workspace:

    index      src/a.py   mtime, ctime, size, inode, mode   contents 4f2a…
    disk       src/a.py   the same                          not read: the contents are 4f2a…
    disk       src/a.py   another ctime                     read

It is a cache: an index that is missing, cut off or damaged counts as empty, and an entry is believed only where the
store holds its contents. A file that may have changed in the moment in which the index was written is read again
(git calls such an entry racy).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from rawko.workspace.capture.mirror import File, Mirror
from rawko.workspace.capture.reader import Reader

_MAGIC: Final = b"rawko stat index 1\n"
_ENTRY: Final = struct.Struct("<qqQQII20s")
"""mtime and ctime in ns, size in bytes, inode, mode on disk; git's mode and the 20 bytes of the contents' id."""
_TIME: Final = struct.Struct("<q")
_SUM_BYTES: Final = 32
_SAVED_FROM: Final = 1_000
"""Files that were read since the index was written, from which on it is written before the run ends: so that a run
that is killed need not read them again."""


class StatIndex:
    """The index of one workspace, for one store.

    Args:
        reader: Gets what the index knows.
    """

    def __init__(self, path: Path, reader: Reader) -> None:
        self._path = path
        self._reader = reader
        self._reads = 0
        self._is_loaded = False

    def load(self) -> None:
        """Let the reader know what the index holds; once."""
        if not self._is_loaded:
            self._is_loaded = True
            self._reader.known = read_index(self._path)

    def scanned(self, mirror: Mirror) -> None:
        """After a full scan the mirror knows all that the index knew, and more."""
        self._reader.known = {}
        self._save(mirror, _SAVED_FROM)

    def close(self, mirror: Mirror | None) -> None:
        """Keep what the mirror knows, if that is more than the index does; remove what a killed process left."""
        if self._is_loaded and mirror is not None:
            self._save(mirror, 1)
        _remove_half_written(self._path)

    def _save(self, mirror: Mirror, least: int) -> None:
        reads = self._reader.reads
        if reads - self._reads >= least:
            self._reads = reads
            write_index(self._path, mirror)


def index_file(state_dir: Path, root: Path) -> Path:
    """Where the index of a workspace lies in its state folder, which forks share."""
    return state_dir / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.index"


def read_index(path: Path) -> dict[bytes, File]:
    """The files of an index by their paths, each with its signature; empty where there is no whole index."""
    try:
        content = path.read_bytes()
        head = len(_MAGIC) + _SUM_BYTES
        packed = memoryview(content)[head:]
        if content[:head] != _MAGIC + hashlib.sha256(packed).digest():
            return {}
        data = zlib.decompress(packed)
        (written,) = _TIME.unpack_from(data)
        count = int.from_bytes(data[_TIME.size : _TIME.size + 4], "little")
        start = _TIME.size + 4
        end = start + count * _ENTRY.size
        names = data[end:].split(b"\0")
        return {
            name: File(kind, oid, (mtime, ctime, size, inode, mode))
            for name, (mtime, ctime, size, inode, mode, kind, oid) in zip(
                names, _ENTRY.iter_unpack(data[start:end]), strict=True
            )
            if mtime < written and ctime < written
        }
    except (OSError, ValueError, struct.error, zlib.error):
        return {}


def write_index(path: Path, files: Iterable[tuple[bytes, File]]) -> None:
    """Keep what is known of files; what has no signature is left out, and a disk that refuses is no error."""
    names, entries = [], []
    for name, (kind, oid, signature) in files:
        if signature is not None:
            try:
                entries.append(_ENTRY.pack(*signature, kind, oid))
            except struct.error:  # a time before 1677 or after 2262
                continue
            names.append(name)
    count = len(entries).to_bytes(4, "little")
    data = b"".join((_TIME.pack(time.time_ns()), count, *entries, b"\0".join(names)))
    packed = zlib.compress(data, 1)
    temporary = _temporary(path)
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return
    with os.fdopen(descriptor, "wb") as file:
        if _is_ours(descriptor, temporary):
            try:
                file.truncate()
                file.write(_MAGIC + hashlib.sha256(packed).digest() + packed)
                file.flush()
                temporary.replace(path)
            except OSError:
                with suppress(OSError):  # the disk may refuse this, too: the next run removes it
                    temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """Where an index is written before it takes its place: always the same name, so that a rest of it is found."""
    return path.with_name(f"{path.name}.tmp")


def _remove_half_written(path: Path) -> None:
    """Remove what a process that was killed while it wrote the index has left; not what a living one is writing."""
    temporary = _temporary(path)
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if _is_ours(descriptor, temporary):
            temporary.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _is_ours(descriptor: int, temporary: Path) -> bool:
    """Take the lock of a half-written index; not where another process writes it, or has just put it in its place."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), temporary.lstat())
    except OSError:
        return False
