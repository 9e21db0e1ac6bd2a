"""A rule about parallel states: transitions from one region into another one."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import Chart
from rawko.chart.errors import Diagnostic
from rawko.chart.lint import walk
from rawko.chart.lint.legality import least_common_ancestor
from rawko.chart.lint.rules import finding


def targets_in_other_regions(chart: Chart) -> Iterator[Diagnostic]:
    """Report transitions that leave a parallel state to enter it again, with all of its targets in other regions.

    p: parallel [q: [a, b], s: [c, d]]

        a -> d         told: p is left with both regions; then s is in d, and q in its initial state
        a -> [b, d]    not told: what becomes of each region is said
    """
    for transition in chart.transitions:
        source, targets = transition.source, transition.targets
        if not targets or walk.is_always_false(transition.guard):
            continue
        common = least_common_ancestor(chart, (source, *targets))
        if chart[common].kind != "parallel" or common == source or common in targets:
            continue
        own = _region(chart, source, common)
        others = [_region(chart, target, common) for target in targets]
        if own in others:
            continue
        position = chart.marks.get(("target", transition.index, 0), transition.position)
        message = (
            f"state {source!r} leads to {targets[0]!r} in region {others[0]!r}, beside its own region {own!r} of "
            f"parallel state {common!r}: all regions begin anew, {own!r} in its initial state; raise an event that "
            f"{others[0]!r} handles, or name a target in {own!r}, too"
        )
        yield finding("other-region", position, message)


def _region(chart: Chart, name: str, parallel: str) -> str:
    """The child of a parallel state that a state is, or lies in."""
    return next(state for state in (name, *chart.ancestors(name)) if chart[state].parent == parallel)
