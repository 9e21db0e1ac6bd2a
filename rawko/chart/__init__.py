"""The chart language: YAML text to a checked, immutable `Chart` that knows file, line and column of every element."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rawko.chart.check import CheckResult, check_chart, check_file, check_text
from rawko.chart.definition import Chart
from rawko.chart.errors import ChartDefinitionError, ChartError, ChartFileError, ChartSyntaxError, Diagnostic
from rawko.chart.lint import RULES, BoundNames, has_errors, lint_bindings, lint_chart, needed_names
from rawko.chart.parse import load_chart, parse_chart
from rawko.chart.schema import chart_schema
from rawko.chart.shipped import find_chart, shipped_charts, shipped_path

if TYPE_CHECKING:
    from rawko.chart.formats.sismic_model import from_statechart
    from rawko.chart.formats.sismic_yaml import to_sismic_yaml
    from rawko.chart.lowering import Lowered, losses, lower, to_statechart

__all__ = [
    "RULES",
    "BoundNames",
    "Chart",
    "ChartDefinitionError",
    "ChartError",
    "ChartFileError",
    "ChartSyntaxError",
    "CheckResult",
    "Diagnostic",
    "Lowered",
    "chart_schema",
    "check_chart",
    "check_file",
    "check_text",
    "find_chart",
    "from_statechart",
    "has_errors",
    "lint_bindings",
    "lint_chart",
    "load_chart",
    "losses",
    "lower",
    "needed_names",
    "parse_chart",
    "shipped_charts",
    "shipped_path",
    "to_sismic_yaml",
    "to_statechart",
]

# What needs sismic loads on first use: checking a chart does not.
_LAZY = {
    "to_sismic_yaml": "rawko.chart.formats.sismic_yaml",
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
