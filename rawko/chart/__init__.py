"""The chart language: YAML text to a checked, immutable `Chart` that knows file, line and column of every element."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartDefinitionError, ChartError, ChartFileError, ChartSyntaxError, Diagnostic
from rawko.chart.parse import load_chart, parse_chart
from rawko.chart.shipped import find_chart, shipped_charts, shipped_path

if TYPE_CHECKING:
    from rawko.chart.formats.sismic_model import from_statechart
    from rawko.chart.lowering import Lowered, losses, lower, to_statechart

__all__ = [
    "Chart",
    "ChartDefinitionError",
    "ChartError",
    "ChartFileError",
    "ChartSyntaxError",
    "Diagnostic",
    "Lowered",
    "find_chart",
    "from_statechart",
    "load_chart",
    "losses",
    "lower",
    "parse_chart",
    "shipped_charts",
    "shipped_path",
    "to_statechart",
]

# What needs sismic loads on first use: checking a chart does not.
_LAZY = {
    "from_statechart": "rawko.chart.formats.sismic_model",
    "Lowered": "rawko.chart.lowering",
    "losses": "rawko.chart.lowering",
    "lower": "rawko.chart.lowering",
    "to_statechart": "rawko.chart.lowering",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
