"""How deep states may nest in text: what is written here can be read again, here and elsewhere."""

from __future__ import annotations

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartDefinitionError
from rawko.chart.lint.rules import finding

MAX_STATES_DEEP = 99
"""States inside each other in a text. A machine itself has no such limit: charts that are built take thousands."""


def require_writable(chart: Chart) -> None:
    """Refuse to write a chart whose states nest deeper than readers take.

    Raises:
        ChartDefinitionError: With the code `too-deep`, at the first state that is too deep.
    """
    for name, depth in chart.depths.items():
        if depth >= MAX_STATES_DEEP:
            message = (
                f"state {name!r} lies {depth} states deep; a text takes at most {MAX_STATES_DEEP} inside each other"
            )
            raise ChartDefinitionError([finding("too-deep", chart[name].position, message)])
