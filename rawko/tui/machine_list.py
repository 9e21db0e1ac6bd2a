"""The list of the run's machines: which states are lit, and which a person has opened or closed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rawko.app.following.watching import Watched
from rawko.app.views.charts import RunCharts
from rawko.tui.drawing import outline
from rawko.tui.drawing.cells import CellLine
from rawko.tui.widgets.lines import Lines


class MachineList:
    """Keeps the outline up to date.

    Attributes:
        since: Time of the latest step, in seconds since 1970.
    """

    def __init__(self) -> None:
        self.lines: Lines[Any] = Lines(self._draw, id="machine", follows=False, empty="no machine yet")
        self.since = time.time()
        self._watched: Watched | None = None
        self._charts: RunCharts | None = None
        self._configurations: dict[str, tuple[str, ...]] = {}
        self._agent = ""
        self._unfolded: set[tuple[str, str]] = set()
        self._touched: dict[tuple[str, str], bool] = {}

    def take(self, watched: Watched, agent: str) -> None:
        """The machines after the latest step; `agent` works now."""
        found = dict(watched.reader.fold.configurations)
        if self._watched is watched and found == self._configurations and agent == self._agent:
            return
        if self._watched is not watched:
            self._watched, self._charts = watched, RunCharts(watched.record)
        self._configurations, self._agent = found, agent
        self.show()

    def show(self) -> None:
        """Place the rows; the cursor goes to the innermost active state, unless a person is in the list."""
        if self._charts is None:
            return
        lines = self.lines
        self._remember()
        charts, problems = self._charts.of(self._configurations, self._agent)
        rows = outline.rows_of(charts, self._configurations, problems, frozenset(self._unfolded))
        opened = {index for index, row in enumerate(rows) if self._is_open(row)}
        leaves = [index for index, row in enumerate(rows) if isinstance(row, outline.Row) and row.is_leaf]
        is_used = lines.has_focus and bool(lines.items)
        lines.reset(rows, cursor=lines.cursor if is_used else leaves[-1] if leaves else 0, opened=opened)

    def unfold(self, row: outline.Row) -> None:
        """Show the states that are folded away below one."""
        self._unfolded.add((row.actor, row.state.name))
        self.show()

    def tick(self) -> None:
        """Draw the seconds of the active states again."""
        for index, row in enumerate(self.lines.items):
            if isinstance(row, outline.Row) and row.is_leaf:
                self.lines.redraw(index)

    def _remember(self) -> None:
        """What a person has opened or closed by hand stays so."""
        for index, row in enumerate(self.lines.items):
            if isinstance(row, outline.Row):
                key, is_open = (row.actor, row.state.name), index in self.lines.opened
                if is_open != row.is_active or key in self._touched:
                    self._touched[key] = is_open

    def _is_open(self, row: outline.Row | outline.Unknown) -> bool:
        if isinstance(row, outline.Unknown):
            return False
        return self._touched.get((row.actor, row.state.name), row.is_active)

    def _draw(self, row: outline.Row | outline.Unknown, width: int, is_open: bool) -> Sequence[CellLine]:
        watched = self._watched
        if watched is None or not watched.is_at_work:
            return outline.draw(row, width, is_open, {} if watched is None else watched.totals.visits, "")
        since = f"{max(int(time.time() - self.since), 0)}s"
        return outline.draw(row, width, is_open, watched.totals.visits, since)
