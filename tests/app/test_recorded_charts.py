"""The charts of a run as of its rows, and a note of a migration whose row was never written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rawko.app.records.charts import RecordedCharts, keep_charts, kept_chart, without_unwritten_migration
from rawko.app.records.record import RunRecord
from rawko.app.run.parts.charts import shipped_chart
from rawko.chart import Chart, parse_chart, shipped_charts
from rawko.config import Flags, Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(tmp_path, Flags(), {"RAWKO_STATE_DIR": str(tmp_path / "state")})


def chart_of(name: str, state: str) -> Chart:
    return parse_chart(
        f"statechart: {{name: {name}, root state: {{name: r, initial: {state}, states: [{{name: {state}}}]}}}}"
    )


def record_of(settings: Settings) -> RunRecord:
    migrations = ((40, {"a": "1"}), (90, {"a": "2", "b": "1"}))
    return RunRecord("r", "t", None, settings, None, charts={"a": "3", "b": "2", "c": "1"}, migrations=migrations)


@pytest.mark.parametrize(
    ("row", "hashes"),
    [
        (0, {"a": "1", "b": "1", "c": "1"}),
        (39, {"a": "1", "b": "1", "c": "1"}),
        (40, {"a": "2", "b": "1", "c": "1"}),
        (89, {"a": "2", "b": "1", "c": "1"}),
        (90, {"a": "3", "b": "2", "c": "1"}),
        (900, {"a": "3", "b": "2", "c": "1"}),
    ],
)
def test_each_row_has_its_charts(settings: Settings, row: int, hashes: dict[str, str]) -> None:
    assert RecordedCharts(record_of(settings)).hashes(row) == hashes


def test_a_note_without_its_row_is_taken_back(settings: Settings) -> None:
    record = record_of(settings)
    assert without_unwritten_migration(record, 90) is record
    found = without_unwritten_migration(record, 89)
    assert (dict(found.charts), found.migrations) == ({"a": "2", "b": "1", "c": "1"}, ((40, {"a": "1"}),))


def test_the_chart_of_then_stands_in_for_todays(settings: Settings) -> None:
    old, new, other = chart_of("a", "x"), chart_of("a", "y"), chart_of("b", "x")
    keep_charts(settings, [old])
    record = RunRecord("r", "t", None, settings, None, charts={"a": old.hash, "b": "gone"})
    charts = RecordedCharts(record)
    assert charts.then(new, 5).hash == old.hash
    assert charts.then(other, 5) is other  # nobody has kept it: what today's makes of the rows is told then
    assert charts.then(replace(old, name="c"), 5).name == "c"
    assert charts.is_kept("a", 5) and not charts.is_kept("b", 5)


def test_shipped_charts_are_kept_as_they_are_and_a_damaged_copy_is_none(settings: Settings) -> None:
    charts = [shipped_chart(stem) for stem in shipped_charts()]
    keep_charts(settings, charts)
    assert [kept_chart(settings.state_dir, chart.hash) is not None for chart in charts] == [True] * len(charts)
    path = settings.state_dir / "charts" / f"{charts[0].hash}.yaml"
    path.write_text(path.read_text().replace("name: ", "name: x", 1))
    assert kept_chart(settings.state_dir, charts[0].hash) is None
