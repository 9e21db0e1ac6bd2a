"""Keeps the view's output working when its terminal is closed: failed writes are dropped.

textual writes to `sys.__stderr__`. After a window was closed, a write fails, and textual would leave its thread for
keys running for ever, which keeps the process alive. SIGHUP, which reports the closed terminal, ends the view.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class LastingOutput:
    """Passes all output to a stream; a failed write is dropped."""

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
    """A context in which the view's terminal may be closed."""
    before = sys.__stderr__
    sys.__stderr__ = None if before is None else LastingOutput(before)  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        sys.__stderr__ = before  # type: ignore[misc]
