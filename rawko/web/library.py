"""The runs of a folder as pages ask for them: steps read once and kept, each further look reads what is new alone."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from rawko.app.inspection.path import PathReader
from rawko.app.records.record import RunRecord, read_record
from rawko.app.time_travel.recorded_run import open_past
from rawko.app.views.reading import StepReader, open_steps
from rawko.app.views.steps import StepView
from rawko.config import Settings
from rawko.web.rows import LEFT, row_of

OnRows = Callable[[str, Sequence[list[Any]]], None]
MAX_OPEN: Final = 24
"""Runs whose steps are kept in memory; the one that was asked for longest ago is closed first."""
PAGE: Final = 20_000
"""Steps in one answer."""
PATH_PAGE: Final = 2_000
"""Steps whose transitions are found for one question: a long run is stepped through piece by piece."""


@dataclass(slots=True)
class Shelf:
    """One run that is open."""

    record: RunRecord
    reader: StepReader
    stack: AsyncExitStack
    rows: list[list[Any]] = field(default_factory=list)
    is_read: bool = False
    path: PathReader = field(default_factory=PathReader)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Library:
    """The runs of one folder.

    Args:
        settings: Of the folder.
        on_rows: Called with a run and the rows that it has got since it was opened, as soon as anybody has read them.
    """

    def __init__(self, settings: Settings, on_rows: OnRows = lambda run, rows: None) -> None:
        self.settings = settings
        self.on_rows = on_rows
        self._open: OrderedDict[str, Shelf] = OrderedDict()
        self._opening = asyncio.Lock()

    async def shelf(self, run: str) -> Shelf:
        """A run, with all its steps read.

        Raises:
            ConfigError: There is no such run, or its journal cannot be read.
        """
        record = read_record(run, self.settings)
        async with self._opening:
            shelf = self._open.get(run)
            if shelf is None:
                stack = AsyncExitStack()
                shelf = Shelf(record, await stack.enter_async_context(open_steps(record)), stack)
                self._open[run] = shelf
                while len(self._open) > MAX_OPEN:
                    _, oldest = self._open.popitem(last=False)
                    await oldest.stack.aclose()
            self._open.move_to_end(run)
        await self.refresh(shelf)
        return shelf

    async def refresh(self, shelf: Shelf) -> Sequence[list[Any]]:
        """Read the steps that are new; returns them.

        Raises:
            ConfigError: The journal cannot be read.
        """
        async with shelf.lock:
            known = len(shelf.rows)
            while found := await shelf.reader.page():
                shelf.rows += [row_of(view) for view in found]
                for view in found:
                    if view.leaves_behind is not None:
                        _leave_behind(shelf.rows, *view.leaves_behind)
            new = shelf.rows[known:]
            if new and shelf.is_read:
                self.on_rows(shelf.record.run, new)
            shelf.is_read = True
            return new

    async def path(self, run: str) -> PathReader:
        """The transitions of a run's steps.

        Raises:
            ConfigError: The run cannot be read.
        """
        shelf = await self.shelf(run)
        async with shelf.lock, open_past(run, self.settings) as past:
            await shelf.path.read(past, PATH_PAGE)
        return shelf.path

    async def views(self, run: str) -> list[StepView]:
        """All steps of a run as views.

        Raises:
            ConfigError: There is no such run, or its journal cannot be read.
        """
        async with open_steps(read_record(run, self.settings)) as reader:
            return [view async for view in reader.steps()]

    async def forget(self, run: str) -> None:
        """Close a run: it is gone, or was set back."""
        shelf = self._open.pop(run, None)
        if shelf is not None:
            async with shelf.lock:
                await shelf.stack.aclose()

    async def close(self) -> None:
        """Close all runs."""
        for run in list(self._open):
            await self.forget(run)


def _leave_behind(rows: list[list[Any]], first: int, last: int) -> None:
    for row in rows[max(first - 1, 0) : last]:
        row[LEFT] = 1
