"""`lint_chart`: applies all rules to a chart that loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from rawko.chart.definition import Chart
from rawko.chart.errors import Diagnostic
from rawko.chart.lint import events, finishing, guards, invocations, loops, reachability, regions, repetition
from rawko.chart.lint.legality import MAX_FINDINGS, legality

_CHECKS: tuple[Callable[[Chart], Iterator[Diagnostic]], ...] = (
    reachability.unreachable_states,
    reachability.eventless_cycles,
    regions.targets_in_other_regions,
    guards.shadowed_transitions,
    guards.undecided_transients,
    guards.undecided_choices,
    invocations.unhandled_failures,
    invocations.uncancellable_invocations,
    invocations.undecided_results,
    loops.unbounded_loops,
    events.undeclared_events,
    events.unhandled_raises,
    events.unsent_events,
    events.unknown_cancels,
    finishing.unfinishable_states,
    finishing.silent_histories,
    finishing.silent_finals,
    repetition.repeated_transitions,
)


def lint_chart(chart: Chart) -> tuple[Diagnostic, ...]:
    """The warnings and errors about a chart that loads, at most MAX_FINDINGS, sorted by position.

    For a chart that was not read from text (from sismic's model), this includes `legality`.
    """
    found = [] if chart.marks else legality(chart)
    if not found:
        found = list(islice((diagnostic for check in _CHECKS for diagnostic in check(chart)), MAX_FINDINGS))
    return tuple(sorted(found))
