"""Messages about a run on standard error, printed before a command does its work."""

from __future__ import annotations

import sys

from rawko.app.recovery.report import trouble_of
from rawko.app.time_travel.unfinished import finish_rewind
from rawko.cli.fitting import fitted
from rawko.cli.output import visible_line
from rawko.config import Settings


async def report_finished(run: str, current: Settings) -> None:
    """Finish a rewind or an adoption that a killed process has started, and report it."""
    done = await finish_rewind(run, current)
    if done is not None:
        what = (
            f"adoption of run {done.origin} by run {run}" if done.origin else f"rewind of run {run} to step {done.step}"
        )
        told = f"rawko: finished the {what}, which was interrupted"
        print(fitted(visible_line(told), sys.stderr), file=sys.stderr)


async def report_lost(run: str, current: Settings) -> None:
    """Report where the stored data of a run is inconsistent, or its journal has lost its last rows."""
    if (told := await trouble_of(run, current)) is not None:
        print(fitted(f"rawko: {visible_line(told)}", sys.stderr), file=sys.stderr)
