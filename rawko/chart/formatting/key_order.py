"""The order in which the keys of each element of a chart stand.

What a state is comes first, then what it does, its children last, so that all that is said of a state itself stands in
one place. On one line, between brackets, the description is the last: it is the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rawko.chart.formatting.layout import on_one_line
from rawko.chart.formatting.tree import Collection, Entry, Scalar

_KEPT: Final = "..."
"""Where keys stand whose order among themselves is kept: it is the order in which their transitions are asked."""

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
    """The entries of a mapping, those that the order does not name where it has `...`, or at the end."""
    rest = order.index(_KEPT) if _KEPT in order else len(order)
    places = {key: place for place, key in enumerate(order)}
    if is_inline and "description" in places:
        places["description"] = len(order)
    return sorted(entries, key=lambda entry: places.get(key_of(entry), rest))


def key_of(entry: Entry) -> str:
    """The key of an entry, "" where it is an alias."""
    return entry.key.text if isinstance(entry.key, Scalar) else ""


def order_chart(root: Collection) -> None:
    """Put the keys of all elements in order."""
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
    """A mapping, or those in a list."""
    if not isinstance(value, Collection):
        return []
    if value.is_mapping:
        return [value]
    return [entry.value for entry in value.entries if isinstance(entry.value, Collection) and entry.value.is_mapping]
