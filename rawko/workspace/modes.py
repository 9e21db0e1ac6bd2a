"""Records the permissions of captured files: git's trees store only whether a file is executable.

One line per file that others may not read, in a file beside the store: mode in octal, path in hex. The narrowest
permissions ever captured count, so that a restored file is never accessible to more people than before.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rawko.workspace.note_file import NoteFile

_USUAL: Final = 0o644
"""Readable by all: not recorded. A file without a record is restored writable by its owner only."""


class Modes:
    """Permissions by path.

    Permissions by path.

    Args:
        file: File for new records; None keeps them in memory.
        known: Files to read, of this run and of others; unreadable parts of them are ignored.
    """

    def __init__(self, file: Path | None = None, known: Iterable[Path] = ()) -> None:
        self._notes = NoteFile(file)
        self._modes: dict[bytes, int] = {}
        self._own: dict[bytes, int] = {}
        """Records in this run's own file: those of other runs may be pruned."""
        for path in known:
            self._read(path, is_own=path == file)

    def note(self, path: bytes, permissions: int) -> None:
        """Record the permissions of a captured file."""
        if permissions & _USUAL == _USUAL and path not in self._modes:
            return
        narrowest = permissions & self._modes.get(path, 0o777)
        if self._own.get(path) != narrowest:
            self._modes[path] = self._own[path] = narrowest
            self._notes.add(b"%o %s\n" % (narrowest, path.hex().encode()))

    def flush(self) -> None:
        """Write new records; after a write error they are written by the next call."""
        self._notes.flush()

    def narrowed(self, path: bytes, permissions: int) -> int:
        """Permissions for a restored file: not wider than when it was captured."""
        known = self._modes.get(path)
        if known is None:
            return permissions & 0o755
        return permissions & (known | (known & 0o444) >> 2)

    def _read(self, path: Path, *, is_own: bool) -> None:
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            mode, _, name = line.partition(b" ")
            try:
                key = bytes.fromhex(name.decode("ascii"))
                narrowest = int(mode, 8) & self._modes.get(key, 0o777)
            except ValueError:
                continue
            self._modes[key] = narrowest
            if is_own:
                self._own[key] = int(mode, 8) & self._own.get(key, 0o777)
