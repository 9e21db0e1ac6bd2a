"""A run from its record: to go on, or to be taken up only to end it.

The run itself is imported where it is made: commands that leave it a letter need none of its machines.
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
    """The recorded run, ready to go on, with its own settings or others.

    Args:
        charts: By their names, in the place of today's; see `rawko.app.migrating.as_recorded`.
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
    """The recorded run, to be taken up only to end it: its leftover commands are ended, its files captured."""
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
