"""A rate limit: delays calls so that no 60 seconds contain more than a given number of them.

Times are of the calendar clock, since they are stored beyond the process. With 2 calls a minute:

    asked at    0 s   10 s   20 s              30 s
    passes at   0 s   10 s   60 s (0 + 60)     70 s (10 + 60)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

WINDOW_S: Final = 60.0


def _unbounded() -> int | None:
    return None


class Pace:
    """Admits a number of calls per minute; further calls wait, in the order in which they came.

    Args:
        what: The counted calls, in words: "tool calls".
        per_minute: Most calls per minute; None: no limit.
        left_ms: Returns the rest of the run's time; None if that is not bounded.
        tell: Called before each wait with its seconds, and the limit in words.
    """

    def __init__(
        self,
        what: str,
        per_minute: int | None,
        *,
        left_ms: Callable[[], int | None] = _unbounded,
        tell: Callable[[float, str], None] | None = None,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._what = what
        self._most = per_minute
        self._left_ms = left_ms
        self._tell = tell
        self._now = now
        self._sleep = sleep
        self._times: list[float] = []

    async def admit(self) -> str | None:
        """Wait until the next call is allowed, and count it. Cancelling ends the wait and counts nothing.

        Returns:
            None if the call is allowed; else the reason: the wait would exceed the run's time, and was not begun.
        """
        if self._most is None:
            return None
        now = self._now()
        self._times = self._times[-self._most :]
        due = max(now, self._times[0] + WINDOW_S) if len(self._times) == self._most else now
        wait, left = due - now, self._left_ms()
        limit = f"the rate limit is {self._most} {self._what} a minute"
        if wait > 0 and left is not None and wait * 1000 >= left:
            told = f"the next one would be due in {wait:.1f} s, and the budget leaves {max(left, 0) / 1000:.1f} s"
            return f"The budget is used up: {limit}; {told}."
        self._times.append(due)
        if wait > 0:
            try:
                if self._tell is not None:
                    self._tell(wait, limit)
                await self._sleep(wait)
            except BaseException:
                if due in self._times:
                    self._times.remove(due)
                raise
        return None

    def notes(self) -> list[float]:
        """Times of the latest calls, in seconds since 1970: what a later process needs to continue counting."""
        return [] if self._most is None else self._times[-self._most :]

    def take_up(self, noted: Mapping[str, Any], name: str, *, is_unsure: bool = False) -> None:
        """Continue from the times that an earlier process has recorded under a name.

        Args:
            is_unsure: Another call may have followed the recorded ones: count one as of now.
        """
        now = self._now()
        self._times = sorted(min(float(at), now) for at in noted.get(name) or ())  # the clock may have been set back
        if is_unsure:
            self._times.append(now)
