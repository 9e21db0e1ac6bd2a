"""How far a macrostep, and a call, may go; and from where on a macrostep is watched for repetition."""

from __future__ import annotations

from rawko.chart import definition as d
from rawko.chart.definition import Chart
from rawko.chart.lint import walk

WATCH_AFTER = 1_000
"""Microsteps before the watch begins: ordinary macrosteps pay nothing for it."""
WATCH_AFTER_WITH_CODE = 65_000
"""The same where functions are bound to the chart: one that remembers something itself may still end the loop."""
MAX_MICROSTEPS = 200_000
"""In one macrostep, unless the interpreter is made with another bound."""
MAX_MACROSTEPS = 100_000
"""In one call, beside those for events that waited before, unless the interpreter is made with another bound."""


def watch_after(chart: Chart) -> int:
    """From which microstep on a macrostep of this chart is watched; -1: not at all.

    Python code of trusted charts may change anything, also what cannot be compared.
    """
    if chart.has_code:
        return -1
    calls = any(isinstance(leaf, d.GuardCall) for t in chart.transitions if t.guard for leaf in walk.leaves(t.guard))
    if calls or any(isinstance(used.action, d.CallAction) for used in walk.actions(chart)):
        return WATCH_AFTER_WITH_CODE
    return WATCH_AFTER
