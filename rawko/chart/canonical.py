"""The meaning of a chart as one JSON value, and its SHA-256. Positions, descriptions and spelling do not count.

Charts with equal hashes behave alike with the same bindings, so a snapshot of one can be restored in the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from rawko.chart.definition import (
    Argument,
    CallAction,
    Chart,
    GuardCall,
    Json,
    LiteralArgument,
    State,
    Transition,
)

FORMAT = 1
"""Part of the hash; increased whenever the meaning of an unchanged text changes."""

_LEAVES = frozenset((str, int, float, bool, type(None)))
_SILENT = frozenset(("position", "description"))


def chart_hash(chart: Chart) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    text = json.dumps(canonical(chart), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(chart: Chart) -> Json:
    """The meaning of a chart as JSON. Default values are left out, lists keep their order."""
    return {
        "format": FORMAT,
        "name": chart.name,
        "root": chart.root,
        "version": chart.version,
        "context": chart.context,
        "preamble": chart.preamble,
        "events": {event.name: list(event.fields) for event in chart.events.values()},
        **_rare(chart),
        "states": [_state(state) for state in chart],
    }


def _rare(chart: Chart) -> dict[str, Json]:
    """Settings that most charts lack; left out if default, so that adding them to the language kept old hashes."""
    found: dict[str, Json] = {"errors": chart.errors} if chart.errors != "rollback" else {}
    if chart.selection != "inner":
        found["selection"] = chart.selection
    return found | ({"data model": chart.data_model} if chart.data_model else {})


def _state(state: State) -> Json:
    found = _given(state, skip=("transitions", "order", "children"))
    found["transitions"] = [_transition(transition) for transition in state.transitions]
    return found


def _transition(transition: Transition) -> Json:
    return _given(transition, skip=("index", "source", "origin"))


def _given(value: Any, skip: Iterable[str] = ()) -> dict[str, Json]:
    """The fields of a dataclass that differ from their default."""
    found: dict[str, Json] = {}
    fields_, read = _fields(type(value))
    for (name, default), item in zip(fields_, read(value), strict=True):
        if item is default or name in skip or (item == default and type(item) is type(default)):
            continue
        found[name] = item if type(item) in _LEAVES else _plain(item)
    return found


def _plain(value: Any) -> Json:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is tuple or kind is list:
        return [item if type(item) in _LEAVES else _plain(item) for item in value]
    if kind is GuardCall or kind is CallAction:
        return _call(value)
    if kind not in _FIELDS and isinstance(value, Mapping):  # last: isinstance of an abstract class is slow
        return {key: _plain(item) for key, item in value.items()}
    return {"is": kind.__name__, **_given(value)}


def _call(value: GuardCall | CallAction) -> Json:
    """The same result as `_given`, but faster: large charts consist mostly of calls."""
    found: dict[str, Json] = {"is": type(value).__name__, "name": value.name}
    if value.arguments:
        found["arguments"] = [[name, _argument(argument)] for name, argument in value.arguments]
    return found


def _argument(argument: Argument) -> Json:
    if type(argument) is LiteralArgument:
        return {"is": "LiteralArgument", "value": _plain(argument.value)}
    return {"is": type(argument).__name__, **_given(argument)}


def _fields(kind: type) -> tuple[tuple[tuple[str, Any], ...], Callable[[Any], tuple[Any, ...]]]:
    """Names and defaults (MISSING if none) of the fields that belong to the meaning, and a function that reads them."""
    known = _FIELDS.get(kind)
    if known is None:
        rows = [row for row in fields(kind) if row.compare and row.name not in _SILENT]
        names = [row.name for row in rows]
        read = attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)
        known = _FIELDS[kind] = tuple((row.name, row.default) for row in rows), read
    return known


_FIELDS: dict[type, tuple[tuple[tuple[str, Any], ...], Callable[[Any], tuple[Any, ...]]]] = {}
