"""How narrow the permissions of files were when they were captured: git's trees only know whether a file is executable.

One line per file that others may not read, in a file beside the store: mode in octal, path in hex. The narrowest that
was ever captured counts, so that a file which comes back is never open to more people than it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_USUAL: Final = 0o644
"""Readable by all: not noted. Without a note nobody but the owner may write a file that comes back."""


class Modes:
    """Permissions by path.

    Args:
        file: Where new ones are noted; None keeps them in memory.
        known: Files to read; what cannot be read in them is passed over.
    """

    def __init__(self, file: Path | None = None, known: Iterable[Path] = ()) -> None:
        self._file = file
        self._modes: dict[bytes, int] = {}
        self._new: list[bytes] = []
        for path in known:
            self._read(path)

    def note(self, path: bytes, permissions: int) -> None:
        """A file was captured with these permissions."""
        if permissions & _USUAL == _USUAL and path not in self._modes:
            return
        narrowest = permissions & self._modes.get(path, 0o777)
        if self._modes.get(path) != narrowest:
            self._modes[path] = narrowest
            self._new.append(b"%o %s\n" % (narrowest, path.hex().encode()))

    def flush(self) -> None:
        """Keep what is new; a disk that refuses is asked again the next time."""
        if self._file is None or not self._new:
            return
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, b"".join(self._new))
            finally:
                os.close(descriptor)
        except OSError:
            return
        self._new.clear()

    def narrowed(self, path: bytes, permissions: int) -> int:
        """Permissions for a file that comes back: not wider than it was captured with."""
        known = self._modes.get(path)
        if known is None:
            return permissions & 0o755
        return permissions & (known | (known & 0o444) >> 2)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            mode, _, name = line.partition(b" ")
            try:
                key = bytes.fromhex(name.decode("ascii"))
                self._modes[key] = int(mode, 8) & self._modes.get(key, 0o777)
            except ValueError:
                continue
