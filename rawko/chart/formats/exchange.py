"""What an import or an export gives: the chart or the text, and what was lost on the way, as warnings.

A loss is something that the other side has no word for, so that the result may behave otherwise or says less.
Its code is `lost`. What makes a source no chart at all is an error, and raised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from rawko.chart.definition import Chart, Position
from rawko.chart.errors import Diagnostic

LOST = "lost"


@dataclass(frozen=True, eq=False)
class Imported:
    """A chart from another format.

    Attributes:
        losses: What the chart does not say or do as the source does, in the order of the source.
    """

    chart: Chart
    losses: tuple[Diagnostic, ...] = ()

    @cached_property
    def text(self) -> str:
        """The chart in YAML."""
        from rawko.chart.formats.yaml_writer import write_chart

        return write_chart(self.chart)


@dataclass(frozen=True, slots=True)
class Exported:
    """A chart's text in another format.

    Attributes:
        losses: What the text does not say or do as the chart does, in the chart's order.
    """

    text: str
    losses: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class Losses:
    """Collects losses; none is told twice."""

    found: dict[Diagnostic, None] = field(default_factory=dict)
    messages: set[str] = field(default_factory=set)

    def add(self, position: Position, message: str) -> None:
        self.messages.add(message)
        self.found.setdefault(Diagnostic(position, LOST, message, "warning"))

    def once(self, position: Position, message: str) -> None:
        """Tell where something stands first, as with a name that is used again and again."""
        if message not in self.messages:
            self.add(position, message)

    @property
    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.found))
