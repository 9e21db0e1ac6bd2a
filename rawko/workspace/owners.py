"""Records the owner and group of captured files, so that a restore run by root gives files back to their owners.

git's trees store no owners. A file beside the store has one line per captured content of a file that is not root's:
user and group, and a digest of path and content id. Files without a line are restored as root's own. Only root can give
files away: other users record nothing and change nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from rawko.workspace.note_file import NoteFile

Owner: TypeAlias = tuple[int, int]
"""User and group."""

_LINE: Final = re.compile(rb"([0-9]{1,10}):([0-9]{1,10}) ([0-9a-f]{32})")


class Owners:
    """Owners by path and content: a file captured as root's own is never given to another user.

    Args:
        file: File for new records; None keeps them in memory.
        known: Files to read, of this run and of others; unreadable parts of them are ignored.
    """

    def __init__(self, file: Path | None = None, known: Iterable[Path] = ()) -> None:
        self._is_root = os.geteuid() == 0
        self._notes = NoteFile(file)
        self._ours = os.geteuid(), os.getegid()
        self._owners: dict[bytes, Owner] = {}
        self._own: set[bytes] = set()
        """Records in this run's own file: those of other runs may be pruned."""
        if self._is_root:
            for path in known:
                self._read(path, is_own=path == file)

    def note(self, path: bytes, oid: bytes, seen: os.stat_result) -> None:
        """Record the owner of a captured file with this content."""
        if not self._is_root:
            return
        owner = seen.st_uid, seen.st_gid
        key = _key(path, oid)
        known = self._owners.get(key)
        if owner == (known or self._ours) and (known is None or key in self._own):
            return
        self._owners[key] = owner
        self._own.add(key)
        self._notes.add(b"%d:%d %s\n" % (*owner, key))

    def flush(self) -> None:
        """Write new records; after a write error they are written by the next call."""
        self._notes.flush()

    def owner(self, path: bytes, oid: bytes) -> Owner | None:
        """The owner of a restored file; None leaves it root's."""
        return self._owners.get(_key(path, oid)) if self._is_root else None

    def _read(self, path: Path, *, is_own: bool) -> None:
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            found = _LINE.fullmatch(line)
            if found is not None:
                self._owners[found[3]] = int(found[1]), int(found[2])
                if is_own:
                    self._own.add(found[3])


def _key(path: bytes, oid: bytes) -> bytes:
    return hashlib.sha256(oid + path).hexdigest()[:32].encode()
