"""The numbered stream that pages read: what happened in any run, in order, from any number that is still kept.

A page joins with the number it has seen last. Where events after it are no longer kept, or where the number is of an
earlier start of the server, it gets "reset" first and asks for everything again: a gap is never guessed over.

Events are published while pages read, and for some seconds more: a page whose connection breaks off, or another tab
that takes over, joins again without a gap. After that the server rests, and a page that comes back gets "reset".
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from secrets import token_hex
from typing import Any, Final

KEPT: Final = 4_000
"""Events kept for pages that come late, or come back."""
BEAT_S: Final = 15.0
"""Seconds of silence after which a comment is sent: it tells both sides that the connection still stands."""
LINGER_S: Final = 10.0


class Feed:
    """Numbers events and hands them to all readers.

    Args:
        linger_s: Seconds after the last reader in which events are still published.

    Attributes:
        start: Name of this start of the server; numbers of another start mean nothing here.
        last: Number of the latest event; 0 before the first.
        is_closed: The server stops; readers wait no longer.
    """

    def __init__(self, linger_s: float = LINGER_S) -> None:
        self._linger_s = linger_s
        self.start = token_hex(4)
        self.last = 0
        self._kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self._news = asyncio.Event()
        self._readers = 0
        self._read_until = 0.0
        self._is_resting = True
        self.is_closed = False

    @property
    def is_read(self) -> bool:
        """Whether a page listens, or did a moment ago."""
        return self._readers > 0 or time.monotonic() < self._read_until

    def expect(self) -> None:
        """A page has asked for the latest number, and is about to listen."""
        self._read_until = time.monotonic() + self._linger_s

    def rest(self) -> None:
        """From now on things happen that are not published: a page that comes back with an earlier number is reset."""
        if not self._is_resting:
            self._is_resting = True
            self._kept.clear()
            self.last += 1

    def publish(self, type: str, **fields: Any) -> None:
        """Number an event and wake all readers."""
        self._is_resting = False
        self.last += 1
        self._kept.append((self.last, json.dumps({"n": self.last, "type": type, **fields})))
        self._news.set()
        self._news = asyncio.Event()

    def close(self) -> None:
        """End all readers."""
        self.is_closed = True
        self._news.set()

    async def lines(self, start: str, after: int) -> AsyncIterator[str]:
        """Server-sent events after a number of a start, as text."""
        self._readers += 1
        self._is_resting = False
        try:
            oldest = self._kept[0][0] if self._kept else self.last + 1
            if start != self.start or after > self.last or after + 1 < oldest:
                after = self.last
                yield self._event(after, json.dumps({"n": after, "type": "reset", "start": self.start}))
            else:
                yield ": joined\n\n"
            while not self.is_closed:
                news = self._news
                for number, data in [one for one in self._kept if one[0] > after] if after < self.last else ():
                    yield self._event(number, data)
                    after = number
                if news.is_set():
                    continue
                try:
                    await asyncio.wait_for(news.wait(), BEAT_S)
                except TimeoutError:
                    yield ": beat\n\n"
        finally:
            self._readers -= 1
            self.expect()

    def _event(self, number: int, data: str) -> str:
        return f"id: {self.start}.{number}\ndata: {data}\n\n"
