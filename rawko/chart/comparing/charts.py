"""Compares two charts by their meaning: comments, positions, descriptions and the order of states do not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rawko.chart.comparing.differences import ChartDifferences, Field, Moved, StateDifferences
from rawko.chart.comparing.matching import match_states
from rawko.chart.comparing.transitions import compare_transitions
from rawko.chart.definition import Chart, Invoke, State
from rawko.chart.lint.reachability import reached

_OF_CHART: Final = ("name", "version", "context", "preamble", "errors", "selection", "data_model")
_LISTS: Final = {
    "initial actions": "initial_actions",
    "memory actions": "memory_actions",
    "on entry": "on_entry",
    "on exit": "on_exit",
}
_OF_INVOKE: Final = ("src", "input", "timeout", "on_restore", "finalize", "autoforward", "for_each")


def compare_charts(before: Chart, after: Chart) -> ChartDifferences:
    """The differences of two charts; empty if their hashes are equal."""
    if before.hash and before.hash == after.hash:
        return ChartDifferences()
    names = match_states(before, after)
    known = {*names.values()}
    led_to, leads_to = reached(before), reached(after)
    both = [(old, new) for old, new in names.items() if not before[old].is_history]
    return ChartDifferences(
        fields=tuple(_of_chart(before, after)),
        added=tuple(name for name in after.states if name not in known),
        removed=tuple(name for name in before.states if name not in names),
        moved=tuple(_moved(before, after, names)),
        states=tuple(
            found
            for old, new in sorted(names.items(), key=lambda pair: after[pair[1]].order)
            if (found := _compared(before[old], after[new], names))
        ),
        unreached=tuple(new for old, new in both if old in led_to and new not in leads_to),
        never_reached=tuple(
            name for name, state in after.states.items() if name not in known | leads_to and not state.is_history
        ),
        reached=tuple(new for old, new in both if old not in led_to and new in leads_to),
    )


def _of_chart(before: Chart, after: Chart) -> Iterator[Field]:
    for name in _OF_CHART:
        yield from _differing(name.replace("_", " "), getattr(before, name) or None, getattr(after, name) or None)
    for event in [*before.events, *(name for name in after.events if name not in before.events)]:
        fields = [None if event not in chart.events else chart.events[event].fields for chart in (before, after)]
        yield from _differing(f"event {event}", *fields)


def _moved(before: Chart, after: Chart, names: Mapping[str, str]) -> Iterator[Moved]:
    for old, new in names.items():
        was, now = before[old].parent, after[new].parent
        has_moved = (None if was is None else names.get(was, "")) != now
        if old != new or has_moved:
            yield Moved((old, was if has_moved else now), (new, now))


def _compared(before: State, after: State, names: Mapping[str, str]) -> StateDifferences:
    changes, reordered = compare_transitions(before, after, names)
    return StateDifferences(after.name, tuple(_fields(before, after, names)), changes, reordered)


def _fields(before: State, after: State, names: Mapping[str, str]) -> Iterator[Field]:
    yield from _differing("kind", before.kind, after.kind)
    for name in ("initial", "memory"):
        was = tuple(names.get(target, target) for target in getattr(before, name))
        yield from _differing(name, was or None, getattr(after, name) or None)
    for told, name in _LISTS.items():
        yield from _differing(told, getattr(before, name) or None, getattr(after, name) or None)
    yield from _differing("output", before.output, after.output)
    yield from _differing("contract", before.contract or None, after.contract or None)
    yield from _differing("tags", before.tags or None, after.tags or None)
    yield from _differing("meta", dict(before.meta) or None, dict(after.meta) or None)
    yield from _timers(before, after)
    yield from _invocations(before, after)


def _timers(before: State, after: State) -> Iterator[Field]:
    """Differences in `on restore` of timers with the same delay; changed delays are differences of transitions."""
    for old, new in zip(before.after, after.after, strict=False):
        if old.delay == new.delay:
            yield from _differing("after: on_restore", old.on_restore, new.on_restore)


def _invocations(before: State, after: State) -> Iterator[Field]:
    old, new = ({one.id: one for one in state.invoke} for state in (before, after))
    for name in [*old, *(name for name in new if name not in old)]:
        one, other = old.get(name), new.get(name)
        if one is None or other is None:
            yield Field(f"invoke {name}", _source(one), _source(other))
            continue
        for part in _OF_INVOKE:
            was, now = getattr(one, part), getattr(other, part)
            yield from _differing(f"invoke {name}: {part.replace('_', ' ')}", was or None, now or None)


def _source(invoke: Invoke | None) -> str | None:
    return None if invoke is None else invoke.src


def _differing(name: str, before: Any, after: Any) -> Iterator[Field]:
    if before != after:
        yield Field(name, before, after)
