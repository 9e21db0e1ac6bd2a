"""Copies of the charts that runs began with, stored in the state folder by hash.

With them a run can be read, and migrated to the present versions of its charts, after the chart files have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rawko.app.records.journal import open_journal
from rawko.app.records.json_files import write_text
from rawko.app.records.record import RunRecord
from rawko.app.records.record_changes import forget_migration
from rawko.chart import Chart, ChartError, load_chart, shipped_path
from rawko.chart.formats.yaml_writer import write_chart
from rawko.chart.parse import read_text
from rawko.config import ConfigError, Settings
from rawko.runtime.errors import JournalError


def keep_charts(settings: Settings, charts: Iterable[Chart]) -> None:
    """Store the charts that are not stored yet.

    Raises:
        ConfigError: A chart cannot be written.
    """
    for chart in charts:
        path = _path(settings.state_dir, chart.hash)
        if path.is_file():
            continue
        try:
            text = _text(chart)
        except (ValueError, ChartError):  # a program has built the chart, so there is no YAML of it
            continue
        write_text(path, text)


def _text(chart: Chart) -> str:
    """The YAML of a chart; for a shipped chart the unchanged text of its file."""
    if Path(chart.file).parent == shipped_path("statecharts"):
        return read_text(chart.file)
    return write_chart(chart)


def kept_chart(state_dir: Path, hash: str) -> Chart | None:
    """The stored chart with this hash; None where there is none, or where the file's content has another hash."""
    try:
        chart = load_chart(_path(state_dir, hash))
    except ChartError:
        return None
    return chart if chart.hash == hash else None


def _path(state_dir: Path, hash: str) -> Path:
    return state_dir / "charts" / f"{hash}.yaml"


# ---------------------------------------------------------------- the charts of a run


def without_unwritten_migration(record: RunRecord, last: int) -> RunRecord:
    """The record without its last migration, if a process was killed between noting it and writing its row.

    Args:
        last: Number of the run's latest row.
    """
    if not record.migrations or record.migrations[-1][0] <= last:
        return record
    _, before = record.migrations[-1]
    return replace(record, charts={**record.charts, **before}, migrations=record.migrations[:-1])


async def drop_unwritten_migration(record: RunRecord) -> RunRecord:
    """The record without a migration that was noted but not written; the record on disk is corrected, too.

    Raises:
        ConfigError: The journal cannot be read, or the record cannot be written.
    """
    if not record.migrations:
        return record
    journal = open_journal(record.settings)
    try:
        found = without_unwritten_migration(record, await journal.last_seq(record.run))
    except JournalError as error:
        raise ConfigError(str(error)) from error
    finally:
        await journal.aclose()
    if found is not record:
        forget_migration(found)
    return found


class RecordedCharts:
    """The charts of a run at each of its rows.

    A run began with charts {a: 1, b: 1}; row 40 migrated it to {a: 2}, row 90 to {a: 3, b: 2}:

        row 39   a: 1, b: 1        row 40   a: 2, b: 1        row 90   a: 3, b: 2

    Args:
        record: Without an unwritten migration; see `without_unwritten_migration`.
    """

    def __init__(self, record: RunRecord) -> None:
        self._folder = record.settings.state_dir
        self._known: dict[str, Chart | None] = {}
        hashes: Mapping[str, str] = record.charts
        eras = []
        for row, before in reversed(record.migrations):
            eras.append((row, hashes))
            hashes = {**hashes, **before}
        self._eras = [*eras, (0, hashes)]

    def hashes(self, row: int) -> Mapping[str, str]:
        """Hash of each chart by name, after a row."""
        return next(hashes for first, hashes in self._eras if first <= row)

    def then(self, chart: Chart, row: int) -> Chart:
        """The chart of the same name as of a row; the given chart where that one is unknown or was not stored."""
        wanted = self.hashes(row).get(chart.name)
        if wanted is None or wanted == chart.hash:
            return chart
        return self._kept(wanted) or chart

    def is_kept(self, name: str, row: int) -> bool:
        """Whether the chart of that name, as of a row, is stored in the state folder."""
        wanted = self.hashes(row).get(name)
        return wanted is not None and self._kept(wanted) is not None

    def _kept(self, hash: str) -> Chart | None:
        if hash not in self._known:
            self._known[hash] = kept_chart(self._folder, hash)
        return self._known[hash]
