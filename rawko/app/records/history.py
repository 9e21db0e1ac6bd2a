"""Reads the journal rows of a run, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rawko.app.records.journal import open_journal
from rawko.config import ConfigError, Settings
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import StepRecord

PAGE = 500
"""Rows that are in memory at a time."""


async def steps_of(settings: Settings, run: str, after: int = 0) -> AsyncIterator[StepRecord]:
    """All committed steps of a run, or those after a number, oldest first.

    Raises:
        ConfigError: The journal cannot be read.
    """
    journal = open_journal(settings)
    try:
        while found := await journal.rows(run, after, after + PAGE):
            for record in found:
                yield record
            after = found[-1].seq
    except JournalError as error:
        raise ConfigError(str(error)) from error
    finally:
        await journal.aclose()


async def last_steps(settings: Settings, run: str, count: int) -> AsyncIterator[StepRecord]:
    """The latest steps of a run, oldest first; earlier rows are not read.

    Raises:
        ConfigError: The journal cannot be read.
    """
    journal = open_journal(settings)
    try:
        last = await journal.last_seq(run)
    except JournalError as error:
        raise ConfigError(str(error)) from error
    finally:
        await journal.aclose()
    async for record in steps_of(settings, run, max(last - count, 0)):
        yield record
