"""How narrow the permissions of files were when they were captured: git's trees only know whether a file is executable.

One line per file that others may not read, in a file beside the store: mode in octal, path in hex. The narrowest that
was ever captured counts, so that a file which comes back is never open to more people than it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rawko.workspace.note_file import NoteFile

_USUAL: Final = 0o644
"""Readable by all: not noted. Without a note nobody but the owner may write a file that comes back."""


class Modes:
    """Permissions by path.

    Args:
        file: Where new ones are noted; None keeps them in memory.
        known: Files to read, of this run and of others; what cannot be read in them is passed over.
    """

    def __init__(self, file: Path | None = None, known: Iterable[Path] = ()) -> None:
        self._notes = NoteFile(file)
        self._modes: dict[bytes, int] = {}
        self._own: dict[bytes, int] = {}
        """What stands in this run's own file: those of other runs may be pruned."""
        for path in known:
            self._read(path, is_own=path == file)

    def note(self, path: bytes, permissions: int) -> None:
        """A file was captured with these permissions."""
        if permissions & _USUAL == _USUAL and path not in self._modes:
            return
        narrowest = permissions & self._modes.get(path, 0o777)
        if self._own.get(path) != narrowest:
            self._modes[path] = self._own[path] = narrowest
            self._notes.add(b"%o %s\n" % (narrowest, path.hex().encode()))

    def flush(self) -> None:
        """Keep what is new; a disk that refuses is asked again the next time."""
        self._notes.flush()

    def narrowed(self, path: bytes, permissions: int) -> int:
        """Permissions for a file that comes back: not wider than it was captured with."""
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
