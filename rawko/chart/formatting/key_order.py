"""Sorts the keys of each element of a chart.

Keys that describe a state come first, then its behaviour, then its children, so that everything about one state is in
one place. In an element on one line, between brackets, the description is last, because it is the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rawko.chart.formatting.layout import on_one_line
from rawko.chart.formatting.tree import Collection, Entry, Scalar

_KEPT: Final = "..."
"""Marks the place of keys whose relative order is kept, because their transitions are tried in this order."""

STATECHART: Final = (
    "name", "version", "description", "context", "data model", "errors", "selection", "events", "preamble", "migrate",
    "root state",
)  # fmt: skip
STATE: Final = (
    "name", "type", "description", "use", "tags", "meta", "on entry", "on exit", "initial", "memory", "output",
    "contract", _KEPT, "states", "parallel states",
)  # fmt: skip
TRANSITION: Final = (
    "event",
    "guard",
    "target",
    "action",
    "internal",
    "priority",
    "on restore",
    "contract",
    "description",
)
INVOKE: Final = (
    "id", "src", "for each", "input", "concurrency", "join", "timeout", "on restore", "autoforward", "finalize", _KEPT,
)  # fmt: skip
DECLARED: Final = ("fields", "description")
_ENTRY: Final = ("target", "action")
_USE: Final = ("fragment", "with", "exits")
_MIGRATION: Final = ("from", "states", "action")
_MOVE: Final = ("guard", "target")

_TRANSITIONS: Final = frozenset(("transitions", "always", "on done", "on error", "on each"))


def in_order(entries: Sequence[Entry], order: Sequence[str], *, is_inline: bool = False) -> list[Entry]:
    """The entries of a mapping in this order; keys that it does not name are put at its `...`, or at the end."""
    rest = order.index(_KEPT) if _KEPT in order else len(order)
    places = {key: place for place, key in enumerate(order)}
    if is_inline and "description" in places:
        places["description"] = len(order)
    return sorted(entries, key=lambda entry: places.get(key_of(entry), rest))


def key_of(entry: Entry) -> str:
    """The key of an entry; "" if the key is an alias."""
    return entry.key.text if isinstance(entry.key, Scalar) else ""


def order_chart(root: Collection) -> None:
    """Sort the keys of all elements of a chart."""
    for entry in root.entries:
        if key_of(entry) == "statechart" and isinstance(entry.value, Collection):
            _ordered(entry.value, STATECHART)
            for part in entry.value.entries:
                if key_of(part) == "root state":
                    _state(part.value)
                elif key_of(part) == "events":
                    _declared(part.value)
                elif key_of(part) == "migrate":
                    _migrations(part.value)


def _ordered(mapping: Collection, order: Sequence[str]) -> None:
    if mapping.is_mapping and all(
        isinstance(entry.key, Scalar) and entry.key.text != "<<" for entry in mapping.entries
    ):
        first = mapping.entries[0].above if mapping.entries else []
        mapping.entries = in_order(mapping.entries, order, is_inline=on_one_line(mapping) is not None)
        if mapping.entries and mapping.entries[0].above is not first and not any(first):
            mapping.entries[0].above = [line for line in mapping.entries[0].above if line]


def _state(value: object) -> None:
    if not isinstance(value, Collection):
        return
    _ordered(value, STATE)
    for entry in value.entries:
        key = key_of(entry)
        if key in ("states", "parallel states") and isinstance(entry.value, Collection):
            for child in entry.value.entries:
                _state(child.value)
        elif key in _TRANSITIONS:
            _each(entry.value, TRANSITION)
        elif key == "use":
            _each(entry.value, _USE)
        elif key in ("initial", "memory"):
            _each(entry.value, _ENTRY)
        elif key == "after" and isinstance(entry.value, Collection):
            for timer in entry.value.entries:
                _each(timer.value, TRANSITION)
        elif key == "invoke":
            _invokes(entry.value)


def _invokes(value: object) -> None:
    _each(value, INVOKE)
    for invoke in _mappings(value):
        for entry in invoke.entries:
            if key_of(entry) in _TRANSITIONS:
                _each(entry.value, TRANSITION)


def _declared(value: object) -> None:
    for event in value.entries if isinstance(value, Collection) else ():
        _each(event.value, DECLARED)


def _migrations(value: object) -> None:
    _each(value, _MIGRATION)
    for migration in _mappings(value):
        for entry in migration.entries:
            if key_of(entry) == "states" and isinstance(entry.value, Collection):
                for moves in entry.value.entries:
                    _each(moves.value, _MOVE)


def _each(value: object, order: Sequence[str]) -> None:
    for mapping in _mappings(value):
        _ordered(mapping, order)


def _mappings(value: object) -> list[Collection]:
    """The value itself if it is a mapping, or the mappings in a list."""
    if not isinstance(value, Collection):
        return []
    if value.is_mapping:
        return [value]
    return [entry.value for entry in value.entries if isinstance(entry.value, Collection) and entry.value.is_mapping]
