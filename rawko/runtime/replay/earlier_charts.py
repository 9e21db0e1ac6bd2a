"""Finds the charts that a run was recorded with: its rows are replayed in those instead of the present charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rawko.chart.definition import Chart


def charts_of_snapshot(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and hash of the chart of each machine in a snapshot of a tree."""
    yield snapshot["chart"]["name"], snapshot["chart"]["hash"]
    for child in snapshot["children"].values():
        yield from charts_of_snapshot(child)


class EarlierCharts:
    """Earlier versions of charts, which the embedding program has kept.

    Args:
        charts: The latest of each name last.
        left: Known hashes by name: of charts in the run's latest snapshot, and of the root's.
        is_guessing: For charts without a known hash, assume the one in `charts`, else the present one. If the replayed
            rows match the recorded ones, the assumption was right.

    Attributes:
        used: Earlier charts that differ from the present ones, by name.
        unknown: Names without a known hash, of which `charts` has a chart.
    """

    def __init__(self, charts: Sequence[Chart], left: Mapping[str, str], *, is_guessing: bool) -> None:
        self._by_hash = {chart.hash: chart for chart in charts}
        self._by_name = {chart.name: chart for chart in charts}
        self._left = left
        self._is_guessing = is_guessing
        self.used: dict[str, Chart] = {}
        self.unknown: set[str] = set()

    def recorded_chart(self, chart: Chart, row: int = 0) -> Chart:
        """The chart that a present chart was when the run was recorded; `left` holds for all rows that a resume
        replays.

        Raises:
            UnknownChart: The earlier chart was not given.
        """
        wanted = self._left.get(chart.name)
        if wanted == chart.hash:
            return chart
        if wanted is not None:
            found = self._by_hash.get(wanted)
            if found is None:
                raise UnknownChart(chart, wanted)
        else:
            found = self._by_name.get(chart.name)
            if found is None or found.hash == chart.hash:
                return chart
            self.unknown.add(chart.name)
            if not self._is_guessing:
                return chart
        self.used[chart.name] = found
        return found


class UnknownChart(Exception):
    """A run was left in a chart that was not given.

    Attributes:
        chart: The present chart.
        hash: Of the earlier chart.
    """

    def __init__(self, chart: Chart, hash: str) -> None:
        super().__init__(f"{chart.name!r}, {hash}")
        self.chart = chart
        self.hash = hash
