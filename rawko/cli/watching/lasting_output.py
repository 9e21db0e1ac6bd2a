"""The terminal as the view writes to it, also when it has gone away: then what is written goes nowhere.

textual writes to `sys.__stderr__`. Where a window is closed, a write fails; textual would leave its thread for keys
running for ever, which keeps the process alive. The signal that says that the terminal is gone (SIGHUP) ends the view.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class LastingOutput:
    """Passes everything on to a stream; a write that fails is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def lasting_output() -> Iterator[None]:
    """In here the view's terminal may go away."""
    before = sys.__stderr__
    sys.__stderr__ = None if before is None else LastingOutput(before)  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        sys.__stderr__ = before  # type: ignore[misc]
