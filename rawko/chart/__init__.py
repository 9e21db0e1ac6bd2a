"""The chart language: YAML text to a checked, immutable `Chart` that knows file, line and column of every element."""

from __future__ import annotations

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartDefinitionError, ChartError, ChartFileError, ChartSyntaxError, Diagnostic
from rawko.chart.parse import load_chart, parse_chart
from rawko.chart.shipped import find_chart, shipped_charts, shipped_path

__all__ = [
    "Chart",
    "ChartDefinitionError",
    "ChartError",
    "ChartFileError",
    "ChartSyntaxError",
    "Diagnostic",
    "find_chart",
    "load_chart",
    "parse_chart",
    "shipped_charts",
    "shipped_path",
]
