"""Lists where stock sismic behaves differently from a chart that was lowered to its model: one warning per place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

from rawko.chart.definition import (
    Action,
    AssignAction,
    CancelAction,
    Chart,
    EmitAction,
    LogAction,
    Position,
    RaiseAction,
    Reference,
    SendAction,
    State,
    Transition,
    flat,
)
from rawko.chart.errors import Diagnostic
from rawko.chart.lint.legality import least_common_ancestor
from rawko.chart.lint.rules import finding
from rawko.chart.lint.selection import selection_differences
from rawko.chart.lowering import first, initial_child, sibling_memory


def losses(chart: Chart) -> tuple[Diagnostic, ...]:
    """The differences between stock sismic and the chart, in document order, as warnings with the code "lowered"."""
    found = [*_chart_losses(chart), *_machine_losses(chart), *_state_losses(chart), *_transition_losses(chart)]
    return tuple(sorted(dict.fromkeys(found)))


def _loss(position: Position, message: str) -> Diagnostic:
    return finding("lowered", position, message)


def _chart_losses(chart: Chart) -> Iterator[Diagnostic]:
    if chart.data_model:
        yield _loss(
            chart.position, "its Python code uses names of SCXML's data model (In, assign, ...): sismic has others"
        )
    if chart.errors != "rollback":
        yield _loss(chart.position, "'errors: scxml': sismic raises what a guard or action raises")
    if chart.selection == "scxml":
        for differing in selection_differences(chart):
            yield _loss(differing.outer.position, f"{differing.text}: sismic takes the inner one alone")


def _state_losses(chart: Chart) -> Iterator[Diagnostic]:
    for state in chart:
        parent = chart[state.parent] if state.parent else None
        for invoke in state.invoke:
            yield _loss(invoke.position, f"invoke {invoke.id!r}: sismic starts no actors; send its events yourself")
        for timer in state.after:
            yield _loss(timer.position, f"timer of {state.name!r}: sismic sets none; send {timer.event!r} yourself")
        if len(state.initial) > 1:
            yield _loss(state.position, f"initial of {state.name!r}: sismic enters the first of several targets")
        if (child := initial_child(chart, state)) != first(state.initial):
            yield _loss(
                state.position, f"initial of {state.name!r}: sismic enters {child!r}, which holds it, by default"
            )
        yield from _silent_losses(state)
        yield from _action_losses((*state.on_entry, *state.on_exit, *state.initial_actions, *state.memory_actions))
        if any(map(reads_event, (*state.on_entry, *state.on_exit))):
            yield _loss(state.position, f"entry and exit code of {state.name!r}: sismic shows it no event")
        if state.kind == "parallel":
            yield _loss(
                state.position,
                f"parallel state {state.name!r}: sismic enters and leaves regions by depth and name, takes one "
                "transition after the other, and raises an error where one of several leaves it",
            )
        if state.is_history and not state.memory and sibling_memory(chart, state) is None:
            yield _loss(state.position, f"history {state.name!r}: sismic raises an error where nothing is recorded")
        if any(chart[name].is_history for name in state.initial):
            yield _loss(state.position, f"initial of {state.name!r}: sismic takes no history state there")
        if state.kind == "final" and _ends_with(chart, state):
            yield _loss(state.position, f"final state {state.name!r}: sismic leaves all states where the machine ends")
        if state.initial_actions or state.memory_actions:
            yield _loss(state.position, f"actions on the default entry of {state.name!r}: sismic has none there")
        if state.is_history and parent is not None and parent.kind == "parallel":
            yield _loss(state.position, f"history {state.name!r} in a parallel state: sismic's reader refuses it")
        if len(state.memory) > 1 or (state.memory and sibling_memory(chart, state) != state.memory[0]):
            yield _loss(state.position, f"memory of {state.name!r}: sismic remembers one child of its parent")


def _silent_losses(state: State) -> Iterator[Diagnostic]:
    """Report features that have no effect in sismic."""
    for what, value in (("output", state.output), ("tags", state.tags), ("meta", state.meta)):
        if value not in (None, (), {}):
            yield _loss(state.position, f"{what} of {state.name!r}: sismic has none")
    if state.description:
        yield _loss(state.position, f"description of {state.name!r}: sismic's states have none")


def _ends_with(chart: Chart, final: State) -> bool:
    """Whether the machine may end with this state: only parallel states lie between the root and its parent."""
    name = final.parent
    if name is not None and chart[name].kind == "compound":
        name = chart[name].parent if name != chart.root else None
    while name is not None and chart[name].kind == "parallel":
        name = chart[name].parent
    return name is None


def _action_losses(actions: Iterable[Action]) -> Iterator[Diagnostic]:
    for action in flat(actions):
        message = _action_loss(action)
        if message:
            yield _loss(action.position, message)


def _action_loss(action: Action) -> str:
    told = "sismic tells its listeners of it, and nothing else happens"
    match action:
        case CancelAction(id):
            return f"cancel {id!r}: {told}"
        case EmitAction(event):
            return f"emit {event!r}: {told}"
        case LogAction():
            return f"log: {told}"
        case SendAction(to=str(to)):
            return f"send {action.event!r} to {to!r}: {told}"
        case SendAction(delay=None):
            return f"send {action.event!r}: sismic takes it before all events that wait, as if it were raised"
        case SendAction():
            return f"send {action.event!r}: sismic counts its delay from the latest step, and it cannot be cancelled"
        case AssignAction(values) if reserved := sorted({name for name, _ in values} & _RESERVED):
            return f"assign {', '.join(map(repr, reserved))}: a word of sismic's Python code"
        case RaiseAction(event, data) if reserved := sorted({key for key, _ in data} & _RESERVED):
            return f"raise {event!r}: {', '.join(map(repr, reserved))} cannot be a field of the payload"
        case _:
            return ""


_RESERVED = frozenset(
    ("name", "delay", "event", "send", "notify", "active", "time", "after", "idle", "sent", "received")
)


def _machine_losses(chart: Chart) -> Iterator[Diagnostic]:
    for what, value in (("version", chart.version), ("context", chart.context), ("events", chart.events)):
        if value:
            yield _loss(chart.position, f"{what!r} of the chart: sismic has none")


def reads_event(part: object) -> bool:
    """Whether a guard or an action reads the event."""
    if isinstance(part, Reference):
        return part.root == "event"
    if isinstance(part, tuple):
        return any(map(reads_event, part))
    if is_dataclass(part):
        return any(reads_event(getattr(part, row.name)) for row in fields(part))
    return False


def _domain(chart: Chart, transition: Transition) -> str:
    named = (transition.source, *transition.targets)
    common = least_common_ancestor(chart, named)
    return chart[common].parent or common if common in named else common


def _course_losses(chart: Chart, transition: Transition, where: str) -> Iterator[Diagnostic]:
    """Report transitions with which stock sismic reaches other states, or the same states in another order."""
    if not transition.events:
        if not transition.targets:
            yield _loss(transition.position, f"{where}: sismic takes an eventless transition without target for ever")
        if reads_event(transition.guard) or reads_event(transition.actions):
            yield _loss(transition.position, f"{where}: sismic shows eventless transitions no event")
    if transition.origin not in ("on done", "after") and (
        own := next((e for e in transition.events if e.startswith(_OWN_EVENTS)), None)
    ):
        yield _loss(transition.position, f"{where}: sismic sends no {own!r}; send it yourself")
    if not transition.targets:
        return
    if chart.root in (transition.source, *transition.targets):
        yield _loss(transition.position, f"{where}: sismic leaves the root")
    if chart[_domain(chart, transition)].kind == "parallel":
        yield _loss(transition.position, f"{where}: sismic leaves its own region alone, and not those beside it")
    for target in transition.targets:
        parent = chart[target].parent
        if chart[target].is_history and parent in (transition.source, *chart.ancestors(transition.source)):
            yield _loss(transition.position, f"{where}: sismic looks up {target!r} from inside {parent!r} otherwise")


_OWN_EVENTS = ("done.state.", "error.execution", "error.communication", "rawko.")


def _transition_losses(chart: Chart) -> Iterator[Diagnostic]:
    for transition in chart.transitions:
        where = f"transition of {transition.source!r}"
        yield from _action_losses(transition.actions)
        yield from _course_losses(chart, transition, where)
        if len(transition.targets) > 1:
            common = least_common_ancestor(chart, transition.targets)
            yield _loss(transition.position, f"{where}: several targets become {common!r}")
        if transition.internal and transition.targets:
            yield _loss(transition.position, f"{where}: internal with a target becomes an ordinary transition")
        if any("*" in event for event in transition.events):
            yield _loss(transition.position, f"{where}: sismic matches event names exactly, wildcards never")
        if transition.origin == "on done":
            yield _loss(transition.position, f"{where}: sismic sends no {transition.events[0]!r}; send it yourself")
