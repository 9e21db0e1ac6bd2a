"""How far a run has played a scenario or a cassette, so that the run that follows it plays on from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.app.records.journal import open_journal
from rawko.app.records.record import has_record, read_record
from rawko.config import ConfigError, Settings
from rawko.config.settings import WIRES
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import Journal

_PAGE: Final = 64
"""Rows per read, from the end backwards."""


async def position_left(run: str, settings: Settings) -> Mapping[str, Any] | None:
    """How far a run, or a run that it follows, has played the scenario or the cassette of these settings; None where
    the run played another scenario or cassette, or none of it.

    Raises:
        ConfigError: The record or the journal of the run cannot be read.
    """
    record = read_record(run, settings)
    scripts = [(one.provider, one.scenario, one.cassette) for one in (record.settings, settings)]
    if scripts[0] != scripts[1] or settings.provider in WIRES:
        return None
    journal = open_journal(settings)
    try:
        found = await _position_in(journal, run)
    except JournalError as error:
        raise ConfigError(str(error)) from error
    finally:
        await journal.aclose()
    before = record.continues
    if found is not None or before is None or not has_record(settings, before):
        return found
    return await position_left(before, settings)


async def _position_in(journal: Journal, run: str) -> Mapping[str, Any] | None:
    """The latest position that a run has noted; a run resumed only to be cancelled notes none in its last rows."""
    until = await journal.last_seq(run)
    while until > 0:
        after = max(until - _PAGE, 0)
        for row in reversed(await journal.rows(run, after, until)):
            position = (row.notes or {}).get("position")
            if position is not None:
                found: Mapping[str, Any] = position
                return found
        until = after
    return None
