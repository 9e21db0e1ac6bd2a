"""Short texts for events, guards, actions and delays in a diagram. Escaping is done by the writers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rawko.chart.definition import (
    Action,
    After,
    AssignAction,
    BlockAction,
    CallAction,
    CancelAction,
    Chart,
    CodeAction,
    CodeGuard,
    Delay,
    EmitAction,
    FixedDelay,
    Guard,
    Invoke,
    LogAction,
    RaiseAction,
    SendAction,
)
from rawko.chart.expressions.formatting import format_call, format_guard
from rawko.cutting import cut_line

ACTIONS_CHARS = 36
"""Longest list of actions that is written in full; longer lists end with a count: `record, count +2`."""


def timers_by_event(chart: Chart) -> Mapping[str, After]:
    """The timers of a chart, by the event of each timer."""
    return {timer.event: timer for state in chart for timer in state.after}


def events_text(events: Sequence[str], timers: Mapping[str, After], *, own: str = "") -> str:
    """The events of a transition: `GO, done fetch`; done and error of one invocation as `done, error fetch`.

    Args:
        own: Id of the invocation whose events are written as `done` and `error` only, or "".
    """
    found: list[str] = []
    for event, following in zip_longest(events, events[1:], fillvalue=""):
        name = event.removeprefix("done.invoke.")
        is_both = name != event and following == f"error.invoke.{name}"
        is_own = own and event in (f"done.invoke.{own}", f"error.invoke.{own}")
        found.append(event.split(".")[0] if is_both or is_own else event_text(event, timers))
    return ", ".join(found)


def event_text(event: str, timers: Mapping[str, After]) -> str:
    """An event as text. Generated events are written as the key of the chart that they come from (`after 10m`)."""
    timer = timers.get(event)
    if timer is not None:
        return f"after {delay_text(timer.delay)}"
    if event.startswith("done.state."):
        return "done"
    for prefix, word in (("done.invoke.", "done"), ("error.invoke.", "error"), ("each.invoke.", "each of")):
        if event.startswith(prefix):
            return f"{word} {event.removeprefix(prefix)}"
    return event


def short_limits_text(invoke: Invoke) -> str:
    """Like `limits_text`, but short enough for a box: `, each of files, at most 10m`."""
    each = invoke.for_each
    items = "" if each is None else "items" if isinstance(each.items, tuple) else str(each.items).rpartition(".")[2]
    time = "" if invoke.timeout is None else f", at most {delay_text(invoke.timeout)}"
    return (f", each of {items}" if items else "") + time


def limits_text(invoke: Invoke) -> str:
    """The items and the timeout of an invocation: `, for each context.files, any, 4 at a time, at most 10m`."""
    parts: list[str] = []
    each = invoke.for_each
    if each is not None:
        parts.append(f"for each {'of a list' if isinstance(each.items, tuple) else each.items}")
        if each.join != "all":
            parts.append(f"quorum of {each.quorum}" if each.join == "quorum" else each.join)
        if each.concurrency is not None:
            parts.append(f"{each.concurrency} at a time")
    if invoke.timeout is not None:
        parts.append(f"at most {delay_text(invoke.timeout)}")
    return "".join(f", {part}" for part in parts)


def delay_text(delay: Delay) -> str:
    """`10m`, or the name of the function that computes it."""
    return (delay.text or f"{delay.milliseconds:g}ms") if isinstance(delay, FixedDelay) else delay.name


def guard_text(guard: Guard) -> str:
    """A guard as the chart writes it."""
    return guard.code if isinstance(guard, CodeGuard) else format_guard(guard)


def action_text(action: Action) -> str:
    """An action as a few words."""
    match action:
        case CallAction(name, arguments):
            return format_call(name, arguments)
        case AssignAction(values):
            return "assign " + ", ".join(name for name, _ in values)
        case RaiseAction(event):
            return f"raise {event}"
        case SendAction(event, to=to):
            return f"send {event}" + (f" to {to}" if to else "")
        case CancelAction(id):
            return f"cancel {id}"
        case EmitAction(event):
            return f"emit {event}"
        case LogAction(message):
            return f"log {message}"
        case CodeAction(code):
            return code
        case BlockAction(actions):
            return ", ".join(map(action_text, actions))


def actions_text(actions: Sequence[Action]) -> str:
    """All actions as text, in order."""
    return ", ".join(map(action_text, actions))


def short_actions(actions: Sequence[Action]) -> str:
    """The first actions that fit into `ACTIONS_CHARS`, at least one, and how many more there are."""
    texts = [" ".join(action_text(action).split()) for action in actions]
    shown = texts[:1]
    for text in texts[1:]:
        if len(", ".join([*shown, text])) > ACTIONS_CHARS:
            break
        shown.append(text)
    rest = len(texts) - len(shown)
    return cut_line(", ".join(shown), ACTIONS_CHARS + 8) + (f" +{rest}" if rest else "")
