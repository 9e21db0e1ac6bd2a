"""The signatures of a workspace's captured files, stored on disk between processes, as in git's index.

A full scan reads files with unknown signatures. With this index the first scan of a process reads only files that have
changed since another process captured the workspace:

    index      src/a.py   mtime, ctime, size, inode, mode   contents 4f2a…
    disk       src/a.py   the same                          not read: the contents are 4f2a…
    disk       src/a.py   another ctime                     read again

It is a cache: a missing, truncated or damaged index counts as empty, and an entry counts only if the store has its
contents. A file that may have changed while the index was written is read again (git calls such an entry racy).
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
"""Number of files read since the last save at which the index is saved before the run ends, so that a killed run
need not read them again.
"""


class StatIndex:
    """The index of one workspace, for one store.

    Args:
        reader: Receives the entries of the index.
    """

    def __init__(self, path: Path, reader: Reader) -> None:
        self._path = path
        self._reader = reader
        self._reads = 0
        self._is_loaded = False

    def load(self) -> None:
        """Pass the entries of the index to the reader, once."""
        if not self._is_loaded:
            self._is_loaded = True
            self._reader.known = read_index(self._path)

    def scanned(self, mirror: Mirror) -> None:
        """Drop the entries after a full scan: the mirror contains them now. Save the index if many files were read."""
        self._reader.known = {}
        self._save(mirror, _SAVED_FROM)

    def close(self, mirror: Mirror | None) -> None:
        """Save the mirror's signatures if files were read since the last save; remove a partial file of a killed
        process.
        """
        if self._is_loaded and mirror is not None:
            self._save(mirror, 1)
        _remove_half_written(self._path)

    def _save(self, mirror: Mirror, least: int) -> None:
        reads = self._reader.reads
        if reads - self._reads >= least:
            self._reads = reads
            write_index(self._path, mirror)


def index_file(state_dir: Path, root: Path) -> Path:
    """Path of a workspace's index in its state folder, which forks share."""
    return state_dir / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.index"


def read_index(path: Path) -> dict[bytes, File]:
    """The files of an index by path, each with its signature; empty if the index is missing or damaged."""
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
    """Save the known signatures; files without one are left out, and write errors are ignored."""
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
                with suppress(OSError):  # the disk may refuse this, too: the next run removes the file
                    temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """The file that an index is written to before it is renamed: always the same name, so that a partial one is
    found.
    """
    return path.with_name(f"{path.name}.tmp")


def _remove_half_written(path: Path) -> None:
    """Remove the partial index of a process that was killed while writing; not that of a running process."""
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
    """Lock a partial index; False if another process is writing it, or has just renamed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), temporary.lstat())
    except OSError:
        return False
