"""Rules about events and transitions: which are never taken, handled or declared, and which states never finish."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import CancelAction, Chart, CodeAction, RaiseAction, SendAction, State, Transition
from rawko.chart.errors import Diagnostic, hint, nearest, shown
from rawko.chart.lint import walk
from rawko.chart.lint.rules import finding

GENERATED = ("after.", "done.", "each.", "error.", "rawko.")
"""Events that the interpreter creates; charts do not declare them."""


def shadowed_transitions(chart: Chart) -> Iterator[Diagnostic]:
    """Report transitions that are never taken, because an earlier one of the same state has no guard."""
    for state in chart:
        yield from _shadowed(state)


def _shadowed(state: State) -> Iterator[Diagnostic]:
    winners: dict[str, Transition] = {}
    for transition in sorted(state.transitions, key=lambda each: -each.priority):
        events = transition.events or (_EVENTLESS,)
        covering = [_covering(winners, event) for event in events]
        if all(covering):
            what = f"on {', '.join(transition.events)}" if transition.events else "without event"
            message = (
                f"transition {what} of state {state.name!r} is never taken: "
                f"the one in line {_line(covering)} has no guard and comes first"
            )
            yield finding("shadowed-transition", transition.position, message)
        elif walk.is_always_true(transition.guard):
            for event in events:
                winners.setdefault(event, transition)


_EVENTLESS = ""
"""The key for no event: an eventless transition is preceded only by other eventless ones."""


def _line(covering: list[Transition | None]) -> int:
    return next(each.position.line for each in covering if each is not None)


def _covering(winners: dict[str, Transition], event: str) -> Transition | None:
    """The transition of `winners`, by descriptor, that takes every event that `event` (a descriptor) matches."""
    if event == _EVENTLESS:
        return winners.get(event)
    return next((winners[each] for each in descriptors(event) if each in winners), None)


def descriptors(event: str) -> Iterator[str]:
    """Every descriptor that matches an event name, or that matches all events of a descriptor: itself first."""
    yield event
    parts = event.removesuffix(".*").split(".")
    for end in range(len(parts), 0, -1):
        yield ".".join(parts[:end]) + ".*"
    if not event.startswith(_NOT_WILD):
        yield "*"


_NOT_WILD = ("after.", "rawko.", "error.")


TRANSIENT = "transient"
"""Tag of states that must be exited in the macrostep that enters them."""


def undecided_transients(chart: Chart) -> Iterator[Diagnostic]:
    """Report states with the tag `transient` in which a machine can stay: all eventless transitions have guards."""
    for state in chart:
        if TRANSIENT not in state.tags:
            continue
        ways = [each for each in state.transitions if not each.events and each.targets]
        if not any(walk.is_always_true(each.guard) for each in ways):
            message = (
                f"state {state.name!r} is tagged {TRANSIENT!r}, but a machine can be stuck in it: "
                "give it a last 'always' without a guard"
            )
            yield finding("undecided-transient", state.position, message)


def unhandled_failures(chart: Chart) -> Iterator[Diagnostic]:
    """Report invocations whose failure no transition handles, in their state or an ancestor."""
    handled = {state.name: {event for each in state.transitions for event in each.events} for state in chart}
    for state in chart:
        around = (state.name, *chart.ancestors(state.name))
        for invoke in state.invoke:
            matching = set(descriptors(f"error.invoke.{invoke.id}"))
            if not any(matching & handled[name] for name in around):
                message = f"nothing handles the failure of invoke {invoke.id!r}; add 'on error' to it"
                yield finding("invoke-without-on-error", invoke.position, message)


def undeclared_events(chart: Chart) -> Iterator[Diagnostic]:
    """Report events that are handled but not declared, or declared but not handled, if the chart has `events`."""
    if not chart.events and ("chart", "events") not in chart.marks:
        return
    handled = _Handled(chart)
    for event in chart.events.values():
        if not handled.takes(event.name):
            message = f"event {event.name!r} is declared, but no transition names it"
            yield finding("event-never-handled", event.position, message)
    for transition in chart.transitions:
        yield from _undeclared(chart, transition)


def _undeclared(chart: Chart, transition: Transition) -> Iterator[Diagnostic]:
    if transition.origin != "transitions":
        return
    for event in transition.events:
        if "*" not in event and event not in chart.events and not event.startswith(GENERATED):
            end = hint(event, chart.events, "declared")
            message = f"event {event!r} of state {transition.source!r} is not declared under 'events'{end}"
            yield finding("event-never-declared", transition.position, message)


def unhandled_raises(chart: Chart) -> Iterator[Diagnostic]:
    """Report events that the machine sends to itself and no transition handles."""
    handled = _Handled(chart)
    for action, where in _own_events(chart):
        if not handled.takes(action.event):
            guess = nearest(action.event, handled.names)
            question = f"; did you mean {shown(guess)}?" if guess else ""
            message = f"event {action.event!r} is raised in {where}, but no transition names it{question}"
            yield finding("raised-never-handled", action.position, message)


def _own_events(chart: Chart) -> Iterator[tuple[RaiseAction | SendAction, str]]:
    for done in walk.actions(chart):
        action = done.action
        if isinstance(action, RaiseAction) or (isinstance(action, SendAction) and action.to is None):
            yield action, done.where


def unknown_cancels(chart: Chart) -> Iterator[Diagnostic]:
    """Report cancels of ids that no send has, unless the chart has code, which may send."""
    actions = [done.action for done in walk.actions(chart)]
    if any(isinstance(action, CodeAction) for action in actions):
        return
    ids = sorted({action.id for action in actions if isinstance(action, SendAction) and action.id is not None})
    for action in actions:
        if isinstance(action, CancelAction) and action.id not in ids:
            message = f"no send in the chart has the id {action.id!r}{hint(action.id, ids, 'ids')}"
            yield finding("unknown-cancel", action.position, message)


def unfinishable_states(chart: Chart) -> Iterator[Diagnostic]:
    """Report `on done` of states whose children cannot finish, and of the root, whose end ends the machine."""
    for state in chart:
        if not any(transition.origin == "on done" for transition in state.transitions):
            continue
        position = chart.marks.get(("on done", state.name), state.position)
        if state.parent is None:
            message = "the machine ends when its root is done, so 'on done' of the root is never taken"
            yield finding("unfinishable", position, message)
        elif not _can_finish(chart, state):
            message = f"{walk.owner(state)} never finishes: {_WHY_NOT[state.kind]}"
            yield finding("unfinishable", position, message)


_WHY_NOT = {
    "compound": "none of its children is final",
    "parallel": "a region of it has no final state",
}


def _can_finish(chart: Chart, state: State) -> bool:
    children = [chart[name] for name in state.children if not chart[name].is_history]
    if state.kind == "parallel":
        return all(child.kind == "final" or _can_finish(chart, child) for child in children)
    return any(child.kind == "final" for child in children)


def silent_histories(chart: Chart) -> Iterator[Diagnostic]:
    for state in chart:
        if state.is_history and (state.on_entry or state.on_exit or state.contract):
            message = f"{walk.owner(state)} is never active itself: its entry, exit and contract never run"
            yield finding("silent-history", state.position, message)


class _Handled:
    """The events that transitions name."""

    def __init__(self, chart: Chart) -> None:
        self._descriptors = {event for transition in chart.transitions for event in transition.events}
        self.names = sorted(event for event in self._descriptors if "*" not in event)

    def takes(self, event: str) -> bool:
        return any(descriptor in self._descriptors for descriptor in descriptors(event))
