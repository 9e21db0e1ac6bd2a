"""Compares two charts by their meaning: states, transitions and the order in which they are tried."""

from rawko.chart.comparing.charts import compare_charts
from rawko.chart.comparing.differences import (
    ChartDifferences,
    Field,
    Moved,
    Reordered,
    StateDifferences,
    TransitionChange,
)
from rawko.chart.comparing.joining import Changes, JoinedCharts, join_charts

__all__ = [
    "Changes",
    "ChartDifferences",
    "Field",
    "JoinedCharts",
    "Moved",
    "Reordered",
    "StateDifferences",
    "TransitionChange",
    "compare_charts",
    "join_charts",
]
