"""Which transitions each step of a run took, in which chart: what a drawing lights up while one moves through a run.

The rows are stepped through once, and again only from where the reader stopped. Nothing is started, nothing written.

    step 12 of "root/execute_agent", chart "agent_loop": transitions 3 and 7, then active: deciding
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rawko.app.time_travel.recorded_run import Past
from rawko.chart.definition import Chart
from rawko.config import ConfigError
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import StepRecord
from rawko.runtime.replay.replay import ReplayError, ReplayTree
from rawko.runtime.replay.rewind_records import jump_of

PIECE: Final = 50
"""Rows that are read at once: between two pieces others get their turn."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One step of one machine.

    Attributes:
        chart: Place of the machine's chart in `PathReader.charts`; None where it is not known.
        transitions: Indices of those taken, in order. `configuration`: the active states afterwards.
        begins: It is the machine's first step.
    """

    number: int
    actor: str
    chart: int | None
    transitions: tuple[int, ...]
    configuration: tuple[str, ...]
    begins: bool = False

    def to_json(self) -> list[Any]:
        """Short, since a page loads one per step: [number, actor, chart, transitions, configuration, begins]."""
        return [self.number, self.actor, self.chart, self.transitions, self.configuration, int(self.begins)]


class PathReader:
    """Reads the path of one run, further with every call.

    Attributes:
        moves: All steps read so far, oldest first.
        charts: Of the machines, in the order in which they began.
        problem: Why transitions cannot be told any more (a chart has changed since); "" while they can.
    """

    def __init__(self) -> None:
        self.moves: list[Moved] = []
        self.charts: list[Chart] = []
        self.problem = ""
        self._tree: ReplayTree | None = None
        self._places: dict[str, int] = {}
        self._first = self._last = 0

    @classmethod
    async def beginning(cls, past: Past, after: int) -> PathReader:
        """One that begins after a step, with the machines as the checkpoint nearest to it brings them back."""
        made = cls()
        made._first = made._last = after
        try:
            made._tree = await past.machines_at(after)
        except ConfigError as error:
            made.problem = str(error)
        return made

    @property
    def last(self) -> int:
        """Number of the latest step that was read."""
        return self._last

    async def read(self, past: Past, most: int | None = None) -> None:
        """Read the steps that have been added since.

        Args:
            most: Steps that are read at most; a later call goes on from there.

        Raises:
            ConfigError: The journal cannot be read.
        """
        if past.last < self._last:
            raise ConfigError(f"run {past.record.run!r} has fewer steps than before; open it again")
        until = None if most is None else min(self._last + most, past.last)
        async for record in past.rows(self._last, until, page=PIECE):
            self.moves.append(self._move(past, record))
            self._last = record.seq

    def since(self, number: int) -> Iterator[Moved]:
        """The steps after a number."""
        return (move for move in self.moves[max(number - self._first, 0) :] if move.number > number)

    def chart_named(self, name: str) -> Chart | None:
        return next((chart for chart in self.charts if chart.name == name), None)

    def _move(self, past: Past, record: StepRecord) -> Moved:
        plain = Moved(record.seq, record.actor, None, (), record.configuration)
        if self.problem:
            return plain
        try:
            if self._tree is None:
                self._tree = past.fresh()
            if jump_of(record) is not None:
                self._tree.step(record)
                return plain
            machine = self._tree.machine_of(record).interpreter
            begins = not machine.is_started
            step = self._tree.step(record)
        except (ReplayError, JournalError, ConfigError) as error:
            self.problem = str(error)
            return plain
        assert step is not None, "a jump is told otherwise"
        taken = tuple(index for micro in step.steps for index in micro.indexes)
        return Moved(record.seq, record.actor, self._place(machine.chart), taken, tuple(step.configuration), begins)

    def _place(self, chart: Chart) -> int:
        if chart.hash not in self._places:
            self._places[chart.hash] = len(self.charts)
            self.charts.append(chart)
        return self._places[chart.hash]
