"""Default bounds on microsteps and macrosteps, and the microstep at which the check for repetition begins."""

from __future__ import annotations

from rawko.chart import definition as d
from rawko.chart.definition import Chart
from rawko.chart.lint import walk

WATCH_AFTER = 1_000
"""Microsteps of a macrostep before the check begins, so that ordinary macrosteps pay nothing for it."""
WATCH_AFTER_WITH_CODE = 65_000
"""The same for charts with bound functions: a function with state of its own may still end the loop."""
MAX_MICROSTEPS = 200_000
"""Default bound on the microsteps of one macrostep."""
MAX_MACROSTEPS = 100_000
"""Default bound on the macrosteps of one call, beside those for events that were queued before the call."""


def watch_after(chart: Chart) -> int:
    """The microstep of a macrostep from which repetition is checked; -1 for never.

    Never for charts with trusted Python code: code may change values that cannot be compared.
    """
    if chart.has_code:
        return -1
    calls = any(isinstance(leaf, d.GuardCall) for t in chart.transitions if t.guard for leaf in walk.leaves(t.guard))
    if calls or any(isinstance(used.action, d.CallAction) for used in walk.actions(chart)):
        return WATCH_AFTER_WITH_CODE
    return WATCH_AFTER
