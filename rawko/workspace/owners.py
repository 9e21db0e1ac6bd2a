"""Who owned files when they were captured, for a root that captures and restores the files of others.

git's trees know no owners. One line per captured content of a file that is not ours, in a file beside the store: user
and group, and a digest of path and content's id. What no line names comes back as ours, which gives nobody anything.
Only root can give files away: for all others nothing is noted and nothing is changed.
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
    """Owners by path and content: what was captured as root's own never becomes somebody else's.

    Args:
        file: Where new ones are noted; None keeps them in memory.
        known: Files to read, of this run and of others; what cannot be read in them is passed over.
    """

    def __init__(self, file: Path | None = None, known: Iterable[Path] = ()) -> None:
        self._is_root = os.geteuid() == 0
        self._notes = NoteFile(file)
        self._ours = os.geteuid(), os.getegid()
        self._owners: dict[bytes, Owner] = {}
        self._own: set[bytes] = set()
        """What stands in this run's own file: those of other runs may be pruned."""
        if self._is_root:
            for path in known:
                self._read(path, is_own=path == file)

    def note(self, path: bytes, oid: bytes, seen: os.stat_result) -> None:
        """A file was captured with this content, and belongs to whom `seen` says."""
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
        """Keep what is new; a disk that refuses is asked again the next time."""
        self._notes.flush()

    def owner(self, path: bytes, oid: bytes) -> Owner | None:
        """To whom a file that comes back is given; None leaves it ours."""
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
