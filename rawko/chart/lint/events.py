"""Rules about events that are declared, handled, raised or cancelled without a counterpart."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import CallAction, CancelAction, Chart, CodeAction, RaiseAction, SendAction, Transition
from rawko.chart.errors import MAX_COMPARED, Diagnostic, hint, nearest, shown
from rawko.chart.lint import walk
from rawko.chart.lint.descriptors import GENERATED, descriptors
from rawko.chart.lint.rules import finding


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


def unsent_events(chart: Chart) -> Iterator[Diagnostic]:
    """Report transitions on events of invocations, states and timers that the chart does not have.

    Actions may start invocations with ids of their own (`spawn`). So if the chart calls actions, an unknown id is
    reported only if it is similar to a known one. Imported charts are not checked: their ids are created at run time.
    """
    if chart.has_code or chart.errors == "scxml":
        return
    may_spawn = any(isinstance(done.action, CallAction) for done in walk.actions(chart))
    ids = [invoke.id for state in chart for invoke in state.invoke]
    compared = 0
    lists = [invoke.id for state in chart for invoke in state.invoke if invoke.for_each is not None]
    timers = [after.event.removeprefix("after.") for state in chart for after in state.after]
    states = [state.name for state in chart if state.children and state.parent is not None]
    known = {
        "done.invoke.": ("invocations", ids, may_spawn),
        "error.invoke.": ("invocations", ids, may_spawn),
        "each.invoke.": ("invocations with 'for each'", lists, may_spawn),
        "done.state.": ("states that can be done", states, False),
        "after.": ("timers", timers, False),
    }
    taken = {prefix: frozenset(names) for prefix, (_, names, _) in known.items()}
    for transition in chart.transitions:
        for event in transition.events if transition.origin == "transitions" else ():
            prefix = next((prefix for prefix in known if event.startswith(prefix)), None)
            if prefix is None or "*" in event:
                continue
            what, names, may_be_more = known[prefix]
            name = event.removeprefix(prefix)
            if name in taken[prefix]:
                continue
            compared += 1
            if not may_be_more or (compared <= MAX_COMPARED and nearest(name, names) is not None):
                message = f"event {event!r} of state {transition.source!r} is never sent{hint(name, names, what)}"
                yield finding("never-sent", transition.position, message)


def unknown_cancels(chart: Chart) -> Iterator[Diagnostic]:
    """Report cancels of an id that no send has, unless the chart has Python code, which may send."""
    actions = [done.action for done in walk.actions(chart)]
    if any(isinstance(action, CodeAction) for action in actions):
        return
    ids = sorted({action.id for action in actions if isinstance(action, SendAction) and action.id is not None})
    for action in actions:
        if isinstance(action, CancelAction) and action.id not in ids:
            message = f"no send in the chart has the id {action.id!r}{hint(action.id, ids, 'ids')}"
            yield finding("unknown-cancel", action.position, message)


class _Handled:
    """The events that transitions handle."""

    def __init__(self, chart: Chart) -> None:
        self._descriptors = {event for transition in chart.transitions for event in transition.events}
        self.names = sorted(event for event in self._descriptors if "*" not in event)

    def takes(self, event: str) -> bool:
        return any(descriptor in self._descriptors for descriptor in descriptors(event))
