"""The chart language: reads YAML into a checked, immutable `Chart` that knows file, line and column of every element.

The public names are imported on first use.
"""

from __future__ import annotations

from rawko.lazy_names import lazy_names

TYPE_CHECKING = False  # not imported from `typing`, whose import takes time

if TYPE_CHECKING:
    from rawko.chart.check import CheckResult as CheckResult
    from rawko.chart.check import check_chart as check_chart
    from rawko.chart.check import check_file as check_file
    from rawko.chart.check import check_text as check_text
    from rawko.chart.definition import Chart as Chart
    from rawko.chart.errors import ChartDefinitionError as ChartDefinitionError
    from rawko.chart.errors import ChartError as ChartError
    from rawko.chart.errors import ChartFileError as ChartFileError
    from rawko.chart.errors import ChartSyntaxError as ChartSyntaxError
    from rawko.chart.errors import Diagnostic as Diagnostic
    from rawko.chart.formats.sismic_model import from_statechart as from_statechart
    from rawko.chart.formats.sismic_yaml import to_sismic_yaml as to_sismic_yaml
    from rawko.chart.lint.bindings import BoundNames as BoundNames
    from rawko.chart.lint.bindings import Taken as Taken
    from rawko.chart.lint.bindings import lint_bindings as lint_bindings
    from rawko.chart.lint.bindings import needed_names as needed_names
    from rawko.chart.lint.linting import lint_chart as lint_chart
    from rawko.chart.lint.rules import RULES as RULES
    from rawko.chart.lint.rules import has_errors as has_errors
    from rawko.chart.lowering import Lowered as Lowered
    from rawko.chart.lowering import lower as lower
    from rawko.chart.lowering import to_statechart as to_statechart
    from rawko.chart.parse import load_chart as load_chart
    from rawko.chart.parse import parse_chart as parse_chart
    from rawko.chart.schema import chart_schema as chart_schema
    from rawko.chart.shipped import find_chart as find_chart
    from rawko.chart.shipped import shipped_charts as shipped_charts
    from rawko.chart.shipped import shipped_path as shipped_path
    from rawko.chart.sismic_losses import losses as losses

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
    "Taken",
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

__getattr__ = lazy_names(
    __name__,
    {
        "rawko.chart.check": (
            "CheckResult",
            "check_chart",
            "check_file",
            "check_text",
        ),
        "rawko.chart.definition": ("Chart",),
        "rawko.chart.errors": (
            "ChartDefinitionError",
            "ChartError",
            "ChartFileError",
            "ChartSyntaxError",
            "Diagnostic",
        ),
        "rawko.chart.formats.sismic_model": ("from_statechart",),
        "rawko.chart.formats.sismic_yaml": ("to_sismic_yaml",),
        "rawko.chart.lint.bindings": ("BoundNames", "Taken", "lint_bindings", "needed_names"),
        "rawko.chart.lint.linting": ("lint_chart",),
        "rawko.chart.lint.rules": ("RULES", "has_errors"),
        "rawko.chart.lowering": ("Lowered", "lower", "to_statechart"),
        "rawko.chart.sismic_losses": ("losses",),
        "rawko.chart.parse": (
            "load_chart",
            "parse_chart",
        ),
        "rawko.chart.schema": ("chart_schema",),
        "rawko.chart.shipped": (
            "find_chart",
            "shipped_charts",
            "shipped_path",
        ),
    },
)
