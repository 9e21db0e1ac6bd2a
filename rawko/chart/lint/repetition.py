"""A rule about transitions that every child of a state repeats, although the parent could have them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from rawko.chart.definition import Chart, State, Transition
from rawko.chart.errors import Diagnostic
from rawko.chart.lint import walk
from rawko.chart.lint.rules import finding

LEAST_STATES: Final = 3
"""The least number of children; two states may repeat a transition."""


def repeated_transitions(chart: Chart) -> Iterator[Diagnostic]:
    """Report transitions that every child of a compound state has, except final and history states."""
    for parent in chart:
        if parent.kind == "compound":
            yield from _repeated(chart, parent)


def _repeated(chart: Chart, parent: State) -> Iterator[Diagnostic]:
    children = [chart[name] for name in parent.children if not chart[name].is_history and chart[name].kind != "final"]
    if len(children) < LEAST_STATES:
        return
    counts = Counter(key for child in children for key in {_key(each) for each in child.transitions})
    inside = {parent.name, *chart.descendants(parent.name)}
    for transition in children[0].transitions:
        if counts[_key(transition)] == len(children) and _means_the_same(chart, transition, inside):
            message = (
                f"each of the {len(children)} states in {walk.owner(parent)} has this transition on "
                f"{', '.join(transition.events)}; say it once, in {parent.name!r}"
            )
            yield finding("repeated-transition", transition.position, message)


def _key(transition: Transition) -> tuple[Any, ...]:
    """All parts of a transition that affect its meaning. Actions and guards are compared as written."""
    return (
        transition.events,
        transition.targets,
        transition.guard,
        repr(transition.actions),
        transition.internal,
        transition.priority,
        transition.contract,
    )


def _means_the_same(chart: Chart, transition: Transition, inside: set[str]) -> bool:
    """Whether the parent could have the transition instead: for a target inside, the parent would be exited and entered
    again, except if it is the root, which is never exited."""
    if transition.origin != "transitions" or transition.internal:
        return False
    return chart.root in inside or inside.isdisjoint(transition.targets)
