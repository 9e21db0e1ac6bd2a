"""Reads a run repeatedly: its latest steps first, and earlier steps when a person asks for them.

    run of 20,000 steps, opened        read from the checkpoint before step 19,801
    Up at the first step shown         read again with four times as many steps; then with sixteen times
    Home, or the list of costs         read from the first step on

While more is read, the view shows what it has and answers keys.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final, Protocol

from rawko.app.following.watching import GONE, TAIL, News, Watched
from rawko.app.records.record import RunRecord, read_record
from rawko.app.views.steps import StepView
from rawko.config import ConfigError, Settings

AT_WORK_S, AT_REST_S = 0.1, 0.5
"""Seconds between two readings of the run, while it works and while it rests."""
GROWTH: Final = 4
"""Factor by which each request for earlier steps multiplies the steps read, so that all readings cost about as much as
the last."""


class Viewer(Protocol):
    """The parts of the view that receive news."""

    def take(self, news: News, watched: Watched) -> None: ...

    def take_earlier(self, views: Sequence[StepView], watched: Watched) -> None:
        """Show all steps that are read now, including earlier ones than before."""
        ...

    def say(self, text: str, style: str = "") -> None: ...

    def may_begin(self) -> bool:
        """Whether a run that has no record yet may still write one."""
        ...


class RunPoller:
    """Reads the run for one view.

    Args:
        run: Id of the run; `current` are the settings of its folder.

    Attributes:
        watched: The run, once it is open.
        reading: How far earlier steps have been read; "" while none are being read.
    """

    def __init__(self, run: str, current: Settings, viewer: Viewer) -> None:
        self.watched: Watched | None = None
        self.reading = ""
        self._run = run
        self._current = current
        self._viewer = viewer
        self._tail: int | None = TAIL
        self._wakes = asyncio.Event()

    def want_earlier(self, *, all_of_them: bool = False) -> None:
        """Request steps before the first one read."""
        watched = self.watched
        if watched is None or not watched.joined_at or self._tail is None or (self.reading and not all_of_them):
            return  # they were read already, or are being read
        there = watched.reader.last - watched.joined_at
        self._tail = None if all_of_them else max(GROWTH * there, GROWTH * TAIL)
        self._wakes.set()

    async def run(self) -> None:
        """Read the run until the view ends."""
        record = await self._record()
        if record is None:
            return
        stack = AsyncExitStack()
        try:
            watched = self.watched = await stack.enter_async_context(Watched(record, self._current, tail=self._tail))
            while True:
                await self._look(watched)
                if not self._wakes.is_set() or watched.is_catching_up:
                    continue
                self._wakes.clear()
                async with AsyncExitStack() as larger:
                    more = await self._read(record, watched, larger)
                    if more is None:
                        self._tail = TAIL  # a later request tries again
                        continue
                    await stack.aclose()
                    stack, watched = larger.pop_all(), more
        except ConfigError as error:
            self._viewer.say(str(error), "error")
        finally:
            await stack.aclose()

    async def _record(self) -> RunRecord | None:
        """The run's record; for a run that starts in this process, waits until the record is written."""
        while True:
            try:
                return read_record(self._run, self._current)
            except ConfigError as error:
                if not self._viewer.may_begin():
                    self._viewer.say(str(error), "error")
                    return None
            await asyncio.sleep(AT_WORK_S)

    async def _look(self, watched: Watched) -> None:
        try:
            news = await watched.look()
        except ConfigError as error:
            self._viewer.say(str(error), "error")
            await asyncio.sleep(1.0)
            return
        self._viewer.take(news, watched)
        if news.is_more:
            await asyncio.sleep(0)
            return
        pause_s = AT_WORK_S if watched.is_at_work else AT_REST_S
        try:
            async with asyncio.timeout(pause_s):
                await self._wakes.wait()
        except TimeoutError:
            pass

    async def _read(self, record: RunRecord, latest: Watched, stack: AsyncExitStack) -> Watched | None:
        """Read the run again with the requested number of steps, while `latest` is shown; None where that fails."""
        self.reading = "reading earlier steps"
        views: list[StepView] = []
        looked = time.monotonic()
        try:
            more = await stack.enter_async_context(Watched(record, self._current, tail=self._tail))
            while more.is_catching_up:
                if time.monotonic() > looked + AT_WORK_S:
                    looked = time.monotonic()
                    self._viewer.take(await latest.look(), latest)
                views += (await more.look()).steps
                if more.outcome == GONE:
                    return None
                self.reading = f"reading earlier steps, {more.reader.last - more.joined_at:,}"
                await asyncio.sleep(0.005)  # let the loop handle keys
        except ConfigError as error:
            self._viewer.say(str(error), "error")
            return None
        finally:
            self.reading = ""
        self.watched = more
        self._viewer.take_earlier(views, more)
        return more
