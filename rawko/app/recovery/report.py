"""Messages about a run whose stores are inconsistent, for commands that only read it."""

from __future__ import annotations

from rawko.app.records.outcomes import is_open
from rawko.app.recovery.consistency import Fit
from rawko.app.recovery.reading import refusal
from rawko.app.recovery.setback import lost_note
from rawko.app.run.inbox import is_at_work
from rawko.app.time_travel.recorded_run import open_past
from rawko.config import Settings


async def trouble_of(run: str, current: Settings) -> str | None:
    """What is wrong with the stores of a run that is not running; None where they are consistent.

    Raises:
        ConfigError: There is no such run.
    """
    async with open_past(run, current) as past:
        record = past.record
        fit = Fit() if is_at_work(current, run) else await past.fit()
    if fit.problem is not None:
        return str(refusal(record.settings, run, fit)) if is_open(record) else f"run {run!r}: {fit.problem}"
    if fit.lost is None:
        return None
    remedy = f"; rawko resume {run} first sets the files back to that step" if is_open(record) else ""
    return lost_note(run, fit.lost) + remedy
