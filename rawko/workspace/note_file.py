"""An append-only file of lines beside the store, for attributes of captured files that git's trees do not store."""

from __future__ import annotations

import os
from pathlib import Path


class NoteFile:
    """Buffers lines and appends them together.

    Args:
        path: None stores nothing.
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
        """Append the buffered lines; after a write error they are written by the next call."""
        if self._path is None or not self._new:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                # A full disk may have taken half a line: begin with a line break, so that the half line is invalid.
                data = b"\n" * self._is_torn + b"".join(self._new)
                self._is_torn = True
                if os.write(descriptor, data) == len(data):
                    self._is_torn = False
                    self._new.clear()
            finally:
                os.close(descriptor)
        except OSError:
            return
