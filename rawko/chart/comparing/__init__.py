"""What differs between two charts, by their meaning: states, transitions and the order in which they are tried."""

from rawko.chart.comparing.charts import compare_charts
from rawko.chart.comparing.differences import (
    ChartDifferences,
    Field,
    Moved,
    Reordered,
    StateDifferences,
    TransitionChange,
)

__all__ = [
    "ChartDifferences",
    "Field",
    "Moved",
    "Reordered",
    "StateDifferences",
    "TransitionChange",
    "compare_charts",
]
