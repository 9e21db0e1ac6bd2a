"""The list of the run's machines: active states are highlighted, and a person can open and close rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rawko.app.following.watching import Watched
from rawko.app.views.charts import RunCharts
from rawko.tui.drawing import outline
from rawko.tui.drawing.cells import CellLine
from rawko.tui.widgets.lines import Lines


class MachineList:
    """Updates the outline of the machines.

    Attributes:
        since: Time of the latest step, in seconds since 1970.
        is_whole: Whether the run was read from its first step, so that all visits are counted.
    """

    def __init__(self) -> None:
        self.lines: Lines[Any] = Lines(self._draw, id="machine", follows=False, empty="no machine yet")
        self.since = time.time()
        self.is_whole = True
        self._watched: Watched | None = None
        self._charts: RunCharts | None = None
        self._configurations: Mapping[str, tuple[str, ...]] = {}
        self._visits: Mapping[tuple[str, str], int] = {}
        self._is_live = False
        self._step: int | None = None
        self._has_step_changed = False
        self._agent = ""
        self._unfolded: set[tuple[str, str]] = set()
        self._opened_by_hand: dict[tuple[str, str], bool] = {}

    def take(self, watched: Watched, agent: str, step: int | None) -> None:
        """Show the machines after a step; None: after the latest step, with `agent` working."""
        moment = None if step is None else watched.moments.at(step)
        if self._charts is None or self._watched is not watched:
            self._charts = RunCharts(watched.record)
        self._is_live = moment is None
        self._visits = watched.totals.visits if moment is None else watched.moments.totals_at(step or 0).visits
        found = dict(watched.reader.fold.configurations) if moment is None else moment.configurations
        who = agent if moment is None else moment.agent
        self._has_step_changed = step != self._step
        self._step = step
        is_same = self._watched is watched and found == self._configurations and who == self._agent
        self._watched, self._configurations, self._agent = watched, found, who
        if is_same:
            self.lines.repaint()
        else:
            self.show()

    def show(self) -> None:
        """Place the rows; the cursor goes to the innermost active state.

        While the list has the focus and the same step is shown, the cursor stays where it is.
        """
        if self._charts is None:
            return
        lines = self.lines
        self._remember()
        charts, problems = self._charts.of(self._configurations, self._agent)
        rows = outline.rows_of(charts, self._configurations, problems, frozenset(self._unfolded))
        opened = {index for index, row in enumerate(rows) if self._is_open(row)}
        leaves = [index for index, row in enumerate(rows) if isinstance(row, outline.Row) and row.is_leaf]
        is_used = lines.has_focus and bool(lines.items) and not self._has_step_changed
        lines.reset(rows, cursor=lines.cursor if is_used else leaves[-1] if leaves else 0, opened=opened)

    def unfold(self, row: outline.Row) -> None:
        """Show the states that are folded below a row."""
        self._unfolded.add((row.actor, row.state.name))
        self.show()

    def tick(self) -> None:
        """Redraw the seconds of the active states."""
        for index, row in enumerate(self.lines.items):
            if isinstance(row, outline.Row) and row.is_leaf:
                self.lines.redraw(index)

    def _remember(self) -> None:
        """Remember the rows that a person has opened or closed by hand."""
        for index, row in enumerate(self.lines.items):
            if isinstance(row, outline.Row):
                key, is_open = (row.actor, row.state.name), index in self.lines.opened
                if is_open != row.is_active or key in self._opened_by_hand:
                    self._opened_by_hand[key] = is_open

    def _is_open(self, row: outline.Row | outline.Unknown) -> bool:
        if isinstance(row, outline.Unknown):
            return False
        return self._opened_by_hand.get((row.actor, row.state.name), row.is_active)

    def _draw(self, row: outline.Row | outline.Unknown, width: int, is_open: bool) -> Sequence[CellLine]:
        is_at_work = self._is_live and self._watched is not None and self._watched.is_at_work
        since = f"{max(int(time.time() - self.since), 0)}s" if is_at_work else ""
        return outline.draw(row, width, is_open, self._visits, since, is_whole=self.is_whole)
