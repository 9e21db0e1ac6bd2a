"""How far an exploration has come, in one line of a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final

_EVERY_S: Final = 0.5
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Called with the states found and those looked at; writes to standard error where that is a terminal."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._is_shown = sys.stderr.isatty()
        self._begin = self._last = time.monotonic()
        self._has_written = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_written:
            print(_CLEAR, end="", file=sys.stderr, flush=True)

    def __call__(self, states: int, expanded: int) -> None:
        now = time.monotonic()
        if not self._is_shown or now - self._last < _EVERY_S:
            return
        self._last = now
        print(
            _CLEAR + progress_line(states, expanded, now - self._begin, self._limit),
            end="",
            file=sys.stderr,
            flush=True,
        )
        self._has_written = True


def progress_line(states: int, expanded: int, seconds: float, limit: int) -> str:
    """Counts, speed, and the time after which the limit is reached at the latest."""
    left = (limit - states) * seconds / states
    return (
        f"rawko: {states:,} configurations found, {states - expanded:,} still to be looked at, "
        f"{states / seconds:,.0f} per second; at most {left:,.0f} s more to the limit"
    )
