"""A file beside the store that grows by lines: what git's trees do not hold of captured files."""

from __future__ import annotations

import os
from pathlib import Path


class NoteFile:
    """Lines that are added together.

    Args:
        path: None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._new: list[bytes] = []
        self._is_torn = False

    def add(self, line: bytes) -> None:
        """Add a line, with its line break, at the next flush."""
        if self._path is not None:
            self._new.append(line)

    def flush(self) -> None:
        """Write what is new; a disk that refuses is asked again the next time."""
        if self._path is None or not self._new:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                # A full disk may have taken half a line: the next one begins after a break, and the half is no note.
                data = b"\n" * self._is_torn + b"".join(self._new)
                self._is_torn = True
                if os.write(descriptor, data) == len(data):
                    self._is_torn = False
                    self._new.clear()
            finally:
                os.close(descriptor)
        except OSError:
            return
