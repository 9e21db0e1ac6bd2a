"""What happened in a run, row by row, as its journal holds it."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.app.parts import open_journal
from rawko.config import ConfigError, Settings
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import StepRecord


async def steps_of(settings: Settings, run: str) -> Sequence[StepRecord]:
    """All committed steps of a run, oldest first.

    Raises:
        ConfigError: The journal cannot be read.
    """
    journal = open_journal(settings)
    try:
        return await journal.rows(run)  # type: ignore[no-any-return]
    except JournalError as error:
        raise ConfigError(str(error)) from error
    finally:
        await journal.aclose()
