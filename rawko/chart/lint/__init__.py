"""Rules about charts that can be read: which ones are invalid, suspicious, or use names that are not bound.

Loading a chart applies `legality`; `lint_chart` applies the other rules; `lint_bindings` compares the chart with its
bindings. `rules` lists the codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from rawko.chart.definition import Chart
from rawko.chart.errors import Diagnostic
from rawko.chart.lint import events, finishing, guards, invocations, loops, reachability, repetition
from rawko.chart.lint.bindings import Bound, BoundNames, Needed, lint_bindings, needed_names, unused_bindings
from rawko.chart.lint.legality import MAX_FINDINGS, legality
from rawko.chart.lint.rules import RULES, Rule, has_errors

__all__ = [
    "RULES",
    "Bound",
    "BoundNames",
    "Needed",
    "Rule",
    "has_errors",
    "legality",
    "lint_bindings",
    "lint_chart",
    "needed_names",
    "unused_bindings",
]

_CHECKS: tuple[Callable[[Chart], Iterator[Diagnostic]], ...] = (
    reachability.unreachable_states,
    reachability.eventless_cycles,
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
