"""The charts that runs began with, kept in the state folder by their hash: a run can be looked at, and brought into the
present versions of its charts, whatever became of their files."""

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
    """Keep charts that are not kept yet.

    Raises:
        ConfigError: One cannot be written.
    """
    for chart in charts:
        path = _path(settings.state_dir, chart.hash)
        if path.is_file():
            continue
        try:
            text = _text(chart)
        except (ValueError, ChartError):  # it was built by a program, and there is no text of it
            continue
        write_text(path, text)


def _text(chart: Chart) -> str:
    """The chart in its language. A shipped one's file stays as it is: it is read, and not written out again."""
    if Path(chart.file).parent == shipped_path("statecharts"):
        return read_text(chart.file)
    return write_chart(chart)


def kept_chart(state_dir: Path, hash: str) -> Chart | None:
    """The chart of a hash; None where it is not kept, or is not what was kept."""
    try:
        chart = load_chart(_path(state_dir, hash))
    except ChartError:
        return None
    return chart if chart.hash == hash else None


def _path(state_dir: Path, hash: str) -> Path:
    return state_dir / "charts" / f"{hash}.yaml"


# ---------------------------------------------------------------- the charts of a run


def settled(record: RunRecord, last: int) -> RunRecord:
    """The record without a migration whose row was never written: the process was killed before it was.

    Args:
        last: Number of the run's latest row.
    """
    if not record.migrations or record.migrations[-1][0] <= last:
        return record
    _, before = record.migrations[-1]
    return replace(record, charts={**record.charts, **before}, migrations=record.migrations[:-1])


async def settle(record: RunRecord) -> RunRecord:
    """The record, rid of a migration that a killed process has noted and not written.

    Raises:
        ConfigError: The journal cannot be read, or the record cannot be written.
    """
    if not record.migrations:
        return record
    journal = open_journal(record.settings)
    try:
        found = settled(record, await journal.last_seq(record.run))
    except JournalError as error:
        raise ConfigError(str(error)) from error
    finally:
        await journal.aclose()
    if found is not record:
        forget_migration(found)
    return found


class RecordedCharts:
    """The charts of a run as of each of its rows.

    A run began with charts {a: 1, b: 1}; row 40 brought it into {a: 2}, row 90 into {a: 3, b: 2}:

        row 39   a: 1, b: 1        row 40   a: 2, b: 1        row 90   a: 3, b: 2

    Args:
        record: As `settled`.
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
        """Hash of each chart by its name, right after a row."""
        return next(hashes for first, hashes in self._eras if first <= row)

    def then(self, chart: Chart, row: int) -> Chart:
        """For a chart of today, the one of then; the same where it is not known, or was not kept."""
        wanted = self.hashes(row).get(chart.name)
        if wanted is None or wanted == chart.hash:
            return chart
        return self._kept(wanted) or chart

    def is_kept(self, name: str, row: int) -> bool:
        """Whether the chart of that name is in the state folder as it was then."""
        wanted = self.hashes(row).get(name)
        return wanted is not None and self._kept(wanted) is not None

    def _kept(self, hash: str) -> Chart | None:
        if hash not in self._known:
            self._known[hash] = kept_chart(self._folder, hash)
        return self._known[hash]
