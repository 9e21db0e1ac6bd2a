"""The numbered stream that pages read: events of all runs in order, from any number that is still stored.

A page joins with the number of the last event it received. If later events were dropped, or the number belongs to an
earlier start of the server, the page first gets "reset" and requests everything again.

Events are published while pages read, and for some seconds longer, so that a page whose connection breaks, or another
tab, can join again without a gap. After that publishing stops, and a page that returns gets "reset".
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
"""The number of events stored for pages that join late or again."""
BEAT_S: Final = 15.0
"""Seconds without an event after which a comment is sent, so that both sides notice a broken connection."""
LINGER_S: Final = 10.0


class Feed:
    """Numbers events and passes them to all readers.

    Args:
        linger_s: Seconds after the last reader left during which events are still published.

    Attributes:
        start: Id of this start of the server; event numbers are only valid for the same start.
        last: Number of the latest event; 0 before the first.
        is_closed: Whether the server stops; readers then end.
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
        """Whether a page reads the stream, or did so within `linger_s`."""
        return self._readers > 0 or time.monotonic() < self._read_until

    def expect(self) -> None:
        """Keep publishing for a page that has asked for the latest number and will read the stream next."""
        self._read_until = time.monotonic() + self._linger_s

    def rest(self) -> None:
        """Stop publishing: stored events are dropped, so that a page with an earlier number is reset."""
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
        """Server-sent events as text, after an event number of a start of the server.

        an unknown start, or a number that is dropped    "reset" with the latest number, then new events
        number 5 of this start, the latest being 7       ": joined", events 6 and 7, then new events
        """
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
