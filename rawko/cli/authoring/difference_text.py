"""Texts for the differences between two charts: lines for people, and JSON.

In all functions, `old` and `new` are the timers of the two charts by their events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from rawko.chart.comparing import ChartDifferences, Field, Moved, StateDifferences, TransitionChange
from rawko.chart.definition import After, CodeValue, FixedDelay, NamedDelay, Transition
from rawko.render.words import action_text, actions_text, delay_text, events_text, guard_text


def in_lines(found: ChartDifferences, old: Mapping[str, After], new: Mapping[str, After]) -> Iterator[str]:
    """One line per difference; its first character other than a space marks its kind."""
    for one in found.fields:
        yield f"~ {_field(one)}"
    yield from (f"- state {name}" for name in found.removed)
    yield from (f"+ state {name}" for name in found.added)
    yield from (f"~ {_moved(one)}" for one in found.moved)
    for state in found.states:
        yield f"state {state.name}"
        yield from (f"  {line}" for line in _state(state, old, new))
    for name in found.unreached:
        yield f"! state {name}: nothing leads to it any more"
    for name in found.never_reached:
        yield f"! state {name}: nothing leads to it"
    for name in found.reached:
        yield f"! state {name}: can be reached now"


def _moved(one: Moved) -> str:
    told = f"state {one.before[0]}"
    if one.is_renamed:
        told += f" is called {one.after[0]}"
    if one.before[1] != one.after[1]:
        told += (
            f"{' and' if one.is_renamed else ''} is in {one.after[1] or 'no state'}, not in {one.before[1] or 'none'}"
        )
    return told


def _state(state: StateDifferences, old: Mapping[str, After], new: Mapping[str, After]) -> Iterator[str]:
    for one in state.fields:
        yield f"~ {_field(one)}"
    for change in state.transitions:
        yield from _transition(change, old, new)
    for group in state.reordered:
        event = events_text(group.after[0].events, new) or "always"
        yield f"! {event}: tried in another order, and the first whose guard holds is taken"
        yield f"    before: {'; '.join(_briefly(one) for one in group.before)}"
        yield f"    now:    {'; '.join(_briefly(one) for one in group.after)}"


def _transition(change: TransitionChange, old: Mapping[str, After], new: Mapping[str, After]) -> Iterator[str]:
    if change.before is None and change.after is not None:
        yield f"+ {_whole(change.after, new)}"
    elif change.after is None and change.before is not None:
        yield f"- {_whole(change.before, old)}"
    elif change.before is not None and change.after is not None:
        yield f"~ {_whole(change.before, old)}"
        yield f"  now {_whole(change.after, new)}  ({', '.join(change.parts)})"


def _whole(transition: Transition, timers: Mapping[str, After]) -> str:
    told = events_text(transition.events, timers) or "always"
    if transition.guard is not None:
        told += f" [{guard_text(transition.guard)}]"
    if transition.actions:
        told += f" / {actions_text(transition.actions)}"
    told += f" → {', '.join(transition.targets)}" if transition.targets else " (stays)"
    return f"{told} (internal)" if transition.internal and transition.targets else told


def _briefly(transition: Transition) -> str:
    guard = "otherwise" if transition.guard is None else guard_text(transition.guard)
    return f"{guard} → {', '.join(transition.targets) or 'stays'}"


def _field(one: Field) -> str:
    if one.before is None:
        return f"{one.name}: {_value(one.after)} (new)"
    if one.after is None:
        return f"{one.name}: none (was {_value(one.before)})"
    return f"{one.name}: {_value(one.after)} (was {_value(one.before)})"


def _value(value: Any) -> str:
    match value:
        case FixedDelay() | NamedDelay():
            return delay_text(value)
        case CodeValue():
            return value.code
        case tuple() if value and all(is_dataclass(one) for one in value):
            return ", ".join(action_text(one) for one in value)
        case tuple():
            return ", ".join(map(str, value)) or "nothing"
        case _ if is_dataclass(value):
            return str({one.name: getattr(value, one.name) for one in fields(value) if one.name != "position"})
    return str(value)


# ---------------------------------------------------------------- as JSON


def as_json(found: ChartDifferences, old: Mapping[str, After], new: Mapping[str, After]) -> dict[str, Any]:
    """The differences as JSON data, with the same texts as the lines."""
    return {
        "fields": [_field_json(one) for one in found.fields],
        "added": list(found.added),
        "removed": list(found.removed),
        "moved": [
            {"before": dict(zip(("name", "parent"), one.before, strict=True))}
            | {"after": dict(zip(("name", "parent"), one.after, strict=True))}
            for one in found.moved
        ],
        "states": [
            {
                "name": state.name,
                "fields": [_field_json(one) for one in state.fields],
                "transitions": [
                    {
                        "before": None if one.before is None else _whole(one.before, old),
                        "after": None if one.after is None else _whole(one.after, new),
                        "parts": list(one.parts),
                    }
                    for one in state.transitions
                ],
                "reordered": [
                    {"before": _order(group.before, old), "after": _order(group.after, new)}
                    for group in state.reordered
                ],
            }
            for state in found.states
        ],
        "unreached": list(found.unreached),
        "never_reached": list(found.never_reached),
        "reached": list(found.reached),
    }


def _field_json(one: Field) -> dict[str, Any]:
    return {
        "name": one.name,
        "before": None if one.before is None else _value(one.before),
        "after": None if one.after is None else _value(one.after),
    }


def _order(transitions: Sequence[Transition], timers: Mapping[str, After]) -> list[str]:
    return [_whole(one, timers) for one in transitions]
