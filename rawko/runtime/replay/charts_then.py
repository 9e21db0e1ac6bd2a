"""The charts that a run was recorded with, in the place of today's: its rows are stepped through in those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rawko.chart.definition import Chart


def charts_of_snapshot(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and hash of the chart of each machine in a snapshot of a tree."""
    yield snapshot["chart"]["name"], snapshot["chart"]["hash"]
    for child in snapshot["children"].values():
        yield from charts_of_snapshot(child)


class Earlier:
    """Charts of earlier versions that an embedder has kept.

    Args:
        charts: The latest of each name last.
        left: Hash by name of what is known of the run: charts of its latest snapshot, and the root's.
        is_guessing: Charts of which nothing is known are taken from `charts` where they are, else from today's. Rows
            that come out as they were recorded say that it was right.

    Attributes:
        used: Charts of then that are not those of today, by name.
        unknown: Names of which nothing is known, and of which `charts` has one.
    """

    def __init__(self, charts: Sequence[Chart], left: Mapping[str, str], *, is_guessing: bool) -> None:
        self._by_hash = {chart.hash: chart for chart in charts}
        self._by_name = {chart.name: chart for chart in charts}
        self._left = left
        self._is_guessing = is_guessing
        self.used: dict[str, Chart] = {}
        self.unknown: set[str] = set()

    def then(self, chart: Chart, row: int = 0) -> Chart:
        """The chart of then for one of today; what `left` says holds for all rows that a resume steps through.

        Raises:
            UnknownChart: It was not given.
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
        chart: The one of today.
        hash: Of the one of then.
    """

    def __init__(self, chart: Chart, hash: str) -> None:
        super().__init__(f"{chart.name!r}, {hash}")
        self.chart = chart
        self.hash = hash
