"""Makes a `Run` from its record: to resume it, or only to cancel it.

`Run` is imported inside the functions: commands that only leave a message in the inbox do not need its machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rawko.app.records.record import RunRecord
from rawko.config import Settings

if TYPE_CHECKING:
    from rawko.app.run.run import Run
    from rawko.chart import Chart


def run_of(
    record: RunRecord, settings: Settings | None = None, charts: Mapping[str, Chart] = MappingProxyType({})
) -> Run:
    """The recorded run, ready to be resumed, with its recorded settings or with other ones.

    Args:
        charts: By name, used in place of the present charts; see `rawko.app.migrating.as_recorded`.
    """
    from rawko.app.run.run import Run

    return Run(
        settings or record.settings,
        record.task,
        agent=record.agent,
        id=record.run,
        is_resumed=True,
        continues=record.continues,
        first_event=record.first_event,
        is_interactive=record.is_interactive,
        charts=charts,
    )


def run_to_cancel(record: RunRecord, who: str, charts: Mapping[str, Chart] = MappingProxyType({})) -> Run:
    """The recorded run, to be resumed only to cancel it: its leftover commands are ended, its files captured."""
    from rawko.app.run.run import Run

    run = Run(
        record.settings,
        record.task,
        agent=record.agent,
        id=record.run,
        is_resumed=True,
        is_cancel=True,
        continues=record.continues,
        is_interactive=record.is_interactive,
        charts=charts,
    )
    run.cancel(who=who)
    return run
