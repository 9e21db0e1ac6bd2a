"""Watches the runs of a folder and publishes news: runs, steps, pieces of the model's text.

It works only while a page reads the stream. While a run works, the journal's file is checked a hundred times a second,
and rows are queried where the file has changed; the list of runs and their needs are checked twice a second.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

from rawko.app.following.reading import Piece, follow
from rawko.app.records.journal import journal_of
from rawko.app.records.record import read_record, runs_folder
from rawko.app.run.inbox import is_at_work
from rawko.app.views.summary import read_run
from rawko.config import ConfigError
from rawko.web.feed import Feed
from rawko.web.journal_file import JournalFile
from rawko.web.library import Library

QUICK_S: Final = 0.01
SLOW_S: Final = 0.5
_FILES: Final = ("run.json", "report.json", "rewind.json")
_CHANGING: Final = frozenset({"question", "approval", "answer", "end", "travel"})
"""Kinds of steps after which a run's summary may differ."""
Stamp = tuple[float | None, ...]


class Watch:
    """Compares the folder's runs with their previous states, and publishes the differences."""

    def __init__(self, library: Library, feed: Feed) -> None:
        self._library = library
        self._feed = feed
        self._folder = runs_folder(library.settings.state_dir)
        self._known: dict[str, tuple[Stamp, bool]] | None = None
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._is_stale: set[str] = set()
        self._journal = JournalFile(journal_of(library.settings))

    async def run(self) -> None:
        """Watch until cancelled."""
        looked = -SLOW_S
        loop = asyncio.get_running_loop()
        try:
            while True:
                if not self._feed.is_read:
                    self._known = None
                    self._feed.rest()
                    await self._stop_following()
                elif loop.time() - looked >= SLOW_S:
                    await self._look()
                    looked = loop.time()
                if self._followers and self._journal.may_have_changed():
                    for run in list(self._followers):
                        await self._steps(run)
                while self._is_stale:
                    await self._summary(self._is_stale.pop())
                await asyncio.sleep(QUICK_S if self._followers else SLOW_S / 5)
        finally:
            await self._stop_following()

    async def _look(self) -> None:
        """Find new, changed and deleted runs, and publish them."""
        found = await asyncio.to_thread(self._stamps)
        before, self._known = self._known, found
        if before is None:
            before = {run: stamp for run, stamp in found.items() if not stamp[1]}
        for run in before.keys() - found.keys():
            await self._unfollow(run)
            await self._library.forget(run)
            self._feed.publish("gone", run=run)
        for run, (stamp, at_work) in found.items():
            if before.get(run) == (stamp, at_work):
                continue
            if at_work and run not in self._followers:
                self._followers[run] = asyncio.create_task(self._texts(run))
            if not at_work:
                await self._unfollow(run)
            await self._steps(run)
            await self._summary(run)

    def _stamps(self) -> dict[str, tuple[Stamp, bool]]:
        found: dict[str, tuple[Stamp, bool]] = {}
        with suppress(OSError):
            for folder in self._folder.iterdir():
                stamp = tuple(_changed(folder / name) for name in _FILES)
                if stamp[0] is not None:
                    may_be = stamp[1] is None or self._may_end(folder.name, stamp)
                    at_work = may_be and is_at_work(self._library.settings, folder.name)
                    found[folder.name] = (stamp, at_work)
        return found

    def _may_end(self, run: str, stamp: Stamp) -> bool:
        """Whether a run with a report may still have its process: the process writes the report some time before it
        ends.

        The summary published in between says "at work"; the next check without the process corrects it.
        """
        before = None if self._known is None else self._known.get(run, (None, True))
        return before is not None and (before[1] or before[0] != stamp)

    async def _steps(self, run: str) -> None:
        """Publish the new steps of a run; its summary is published again where a question, an answer or the end is
        among them."""
        with suppress(ConfigError):  # a deleted or damaged run: its summary shows the error
            news = await self._library.news(run)
            if news.rows:
                self._feed.publish("steps", run=run, rows=news.rows, plans=news.plans)
            if any(row[4] in _CHANGING for row in news.rows):
                self._is_stale.add(run)

    async def _summary(self, run: str) -> None:
        try:
            view = await read_run(run, self._library.settings)
        except ConfigError as error:
            self._feed.publish("broken", run=run, message=str(error))
            return
        self._feed.publish("run", run=run, view=view.to_json())

    async def _texts(self, run: str) -> None:
        """Publish pieces of the model's text until the run ends."""
        with suppress(ConfigError):
            record = read_record(run, self._library.settings)
            await self._steps(run)
            async for found in follow(record, await self._library.position(run)):
                if isinstance(found, Piece):
                    self._feed.publish("text", run=run, row=found.row, agent=found.agent, text=found.text)
            # the run has ended: `_look` publishes its last steps and its report

    async def _unfollow(self, run: str) -> None:
        task = self._followers.pop(run, None)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _stop_following(self) -> None:
        for run in list(self._followers):
            await self._unfollow(run)


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
