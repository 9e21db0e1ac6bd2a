"""Rules about the order of guards: transitions that are never taken, and states in which a machine may be stuck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rawko.chart.definition import Chart, Constant, Guard, State, Transition
from rawko.chart.errors import Diagnostic, places
from rawko.chart.expressions.logic import is_implied, shares_an_atom
from rawko.chart.lint import walk
from rawko.chart.lint.descriptors import descriptors
from rawko.chart.lint.rules import finding

MAX_EARLIER = 16
"""The most guards of earlier transitions for one event with which a later guard is compared."""


def shadowed_transitions(chart: Chart) -> Iterator[Diagnostic]:
    """Report transitions that are never taken, because an earlier transition of the same state is taken instead."""
    for state in chart:
        yield from _shadowed(state)


def _shadowed(state: State) -> Iterator[Diagnostic]:
    winners: dict[str, Transition] = {}
    guarded: dict[str, list[Transition]] = {}
    for transition in sorted(state.transitions, key=lambda each: -each.priority):
        events = transition.events or (_EVENTLESS,)
        covering = [_covering(winners, event) for event in events]
        if all(covering):
            first = next(each.position for each in covering if each is not None)
            where = places([first], transition.position)
            yield _never_taken(transition, f"the one in {where} has no guard and comes first")
        elif walk.is_always_true(transition.guard):
            for event in events:
                winners.setdefault(event, transition)
        elif transition.guard is not None and not walk.is_always_false(transition.guard):
            earlier = [_implying(guarded, event, transition.guard) for event in events]
            if all(one or other for one, other in zip(earlier, covering, strict=True)):
                where = places((each.position for one in earlier for each in one), transition.position)
                yield _never_taken(transition, f"whenever its guard holds, an earlier one's does ({where})")
            for event in events:
                guarded.setdefault(event, []).append(transition)


def _never_taken(transition: Transition, why: str) -> Diagnostic:
    what = f"on {', '.join(transition.events)}" if transition.events else "without event"
    message = f"transition {what} of state {transition.source!r} is never taken: {why}"
    return finding("shadowed-transition", transition.position, message)


_EVENTLESS = ""
"""The key for no event: an eventless transition is preceded only by other eventless ones."""


def _covering(winners: dict[str, Transition], event: str) -> Transition | None:
    """The transition in `winners` that takes every event that the descriptor `event` matches; None if there is none."""
    return next((winners[each] for each in _descriptors(event) if each in winners), None)


def _implying(guarded: dict[str, list[Transition]], event: str, guard: Guard) -> list[Transition]:
    """Earlier transitions of which one is taken whenever the guard is true; empty if the guard may be true alone."""
    earlier = [
        each
        for descriptor in _descriptors(event)
        for each in guarded.get(descriptor, ())[:MAX_EARLIER]
        if each.guard is not None and shares_an_atom(guard, each.guard)
    ]
    for each in earlier:
        if is_implied(guard, [_guard(each)]):
            return [each]
    return earlier if earlier and is_implied(guard, [_guard(each) for each in earlier]) else []


def _descriptors(event: str) -> tuple[str, ...]:
    return (event,) if event == _EVENTLESS else tuple(descriptors(event))


def _guard(transition: Transition) -> Guard:
    return Constant(True) if transition.guard is None else transition.guard


TRANSIENT = "transient"
"""Tag of states that must be left in the macrostep that enters them."""


def undecided_transients(chart: Chart) -> Iterator[Diagnostic]:
    """Report states with the tag `transient` in which a machine can stay: all eventless transitions may be refused."""
    for state in chart:
        if TRANSIENT not in state.tags:
            continue
        if not is_decided([each.guard for each in state.transitions if not each.events and each.targets]):
            message = (
                f"state {state.name!r} is tagged {TRANSIENT!r}, but a machine can be stuck in it: "
                "give it a last 'always' without a guard"
            )
            yield finding("undecided-transient", state.position, message)


def undecided_choices(chart: Chart) -> Iterator[Diagnostic]:
    """Report states that only `always` can leave, if all its guards may be false and nothing can change their values.

    States in a parallel state are not checked, because another region may change the values; nor are states whose
    ancestor has invocations, or transitions that are eventless or targetless.
    """
    for state in chart:
        ways = [each for each in state.transitions if not each.events and each.targets]
        if (
            ways
            and state.kind == "atomic"
            and TRANSIENT not in state.tags
            and not state.invoke
            and all(not each.events for each in state.transitions)
            and not is_decided([each.guard for each in ways])
            and not any(_may_leave(chart[name]) for name in chart.ancestors(state.name))
        ):
            message = (
                f"state {state.name!r} is left only by its eventless transitions, and all their guards may be false: "
                "give it a last 'always' without a guard"
            )
            yield finding("undecided-choice", state.position, message)


def _may_leave(state: State) -> bool:
    """Whether an ancestor may leave the state, or change the values that its guards read."""
    return (
        state.kind == "parallel"
        or bool(state.invoke)
        or any(not each.targets or not each.events for each in state.transitions)
    )


def is_decided(guards: Sequence[Guard | None]) -> bool:
    """Whether at least one of these guards is true for any values of their atoms; None stands for no guard."""
    if any(map(walk.is_always_true, guards)):
        return True
    return len(guards) <= MAX_EARLIER and is_implied(None, [Constant(True) if g is None else g for g in guards])
