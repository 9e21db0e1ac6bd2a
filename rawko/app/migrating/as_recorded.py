"""Going on with a run in the charts that it was recorded with, where today's are others; or why that cannot be.

The charts are kept in the state folder by their hash. Their names are bound to today's functions, so that each of them
must still be there; what a chart names no more is no obstacle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rawko.app.records.charts import kept_chart
from rawko.app.records.record import RunRecord
from rawko.app.run.assembly import RecordedMachine
from rawko.app.run.requirements import charts_of
from rawko.app.run.resume import missing_tools, take_up_record
from rawko.chart import Chart
from rawko.config import ConfigError, Settings


class NeedsItsVersion(ConfigError):
    """A run cannot go on with what is installed here; it can with what it began with."""


@dataclass(frozen=True, slots=True)
class AsRecorded:
    """A run that may go on.

    Attributes:
        charts: By their names: those of then that are not those of today.
    """

    record: RunRecord
    charts: Mapping[str, Chart] = field(default_factory=dict)


async def prepare_as_recorded(run: str, current: Settings) -> AsRecorded:
    """A recorded run that goes on in the charts that it was recorded with.

    Raises:
        NeedsItsVersion: A chart was not kept, a chart names what is not bound any more, or a tool is gone.
        ConfigError: Its workspace is not there, or it cannot be read.
    """
    record = await take_up_record(run, current)
    for problem in missing_tools(record):
        raise NeedsItsVersion(problem)
    now = charts_of(record.settings, record.agent)
    charts: dict[str, Chart] = {}
    for name, hash in record.charts.items():
        if now.get(name, hash) == hash:
            continue
        kept = kept_chart(record.settings.state_dir, hash)
        if kept is None:
            raise NeedsItsVersion(f"the chart {name!r} has changed since run {run!r} began, and was not kept")
        charts[name] = kept
    if charts:
        try:
            RecordedMachine(record, charts).machine()
        except ConfigError as error:
            raise NeedsItsVersion(f"run {run!r}: {error}") from error
    return AsRecorded(record, charts)
