"""Finds transitions whose domain differs between SCXML and the chart language (SEMANTICS: the domain).

SCXML exits everything below the nearest *compound* common ancestor of source and targets, the chart language below the
nearest common ancestor of any kind. An internal transition keeps its source active in SCXML only if the source is
compound and all targets are descendants of it.
"""

from __future__ import annotations

from rawko.chart.definition import Chart, Transition
from rawko.chart.lint.legality import least_common_ancestor


def differs_in_domain(chart: Chart, transition: Transition) -> bool:
    """Whether the chart stays inside a parallel state that SCXML would exit and enter again."""
    if not transition.targets or stays(chart, transition):
        return False
    common = least_common_ancestor(chart, (transition.source, *transition.targets))
    named = (transition.source, *transition.targets)
    parent = chart[common].parent
    domain = parent if common in named and parent is not None else common
    return chart[domain].kind == "parallel"


def stays(chart: Chart, transition: Transition) -> bool:
    """Whether an internal transition keeps its source active in SCXML too."""
    return transition.internal and is_internal(chart, transition)


def is_internal(chart: Chart, transition: Transition) -> bool:
    """Whether SCXML honours `type="internal"`: the source is compound and contains all targets."""
    source = transition.source
    is_inside = all(source in chart.ancestors(target) for target in transition.targets)
    return chart[source].kind == "compound" and bool(transition.targets) and is_inside
