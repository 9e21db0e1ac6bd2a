"""Limits the nesting of states in an exported text, so that the text can be read again."""

from __future__ import annotations

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartDefinitionError
from rawko.chart.lint.rules import finding

MAX_STATES_DEEP = 99
"""The deepest nesting of states in a text. The interpreter has no such limit: built charts may nest thousands deep."""


def require_writable(chart: Chart) -> None:
    """Refuse to write a chart whose states nest deeper than readers accept.

    Raises:
        ChartDefinitionError: With the code `too-deep`, at the first state that nests too deep.
    """
    for name, depth in chart.depths.items():
        if depth >= MAX_STATES_DEEP:
            message = f"state {name!r} is nested {depth} states deep; accepted: at most {MAX_STATES_DEEP}"
            raise ChartDefinitionError([finding("too-deep", chart[name].position, message)])
