"""`freeze`, the one function through which data enters a context (C-26).

It refuses values that are not JSON, and values that JSON could not read back: integers of too many digits, and nesting
deeper than MAX_DEPTH, also where it grew step by step. The frozen containers themselves are in `values`.

Each value is checked once: `freeze({"plan": [{"id": 1}]})` makes a record that holds a vector that holds a record. To
freeze that record again, or a value that shares parts of it, takes one check of its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from rawko.interpreter.data.values import DEEP, Record, Vector, depth_of, record_of, set_fields, vector_of
from rawko.interpreter.errors import NotJsonError

FROZEN = frozenset({str, bool, type(None), Record, Vector})
"""Classes of values that `freeze` returns unchanged; integers below TOO_LONG are returned unchanged, too."""
_SHALLOW = frozenset({str, bool, type(None)})
_TEXT = frozenset({str})
MAX_DEPTH = 200
"""Levels of lists and mappings in a value that is accepted."""
_KEPT = -16
"""Depth at which counting starts for a value that was accepted before and is now nested deeper, in a snapshot or event.
"""
_MANY = 8
"""Length above which checking first whether all items are scalar saves time."""
TOO_LONG: Final = 10**4300
"""Integers from this one on (and below its negative) have more digits than Python and other programs read or write."""
TOO_LOW: Final = -TOO_LONG
"""Negative of TOO_LONG, computed once: negating so long a number takes longer than all other checks of a value."""
_new = object.__new__
_ACCEPTED = "None, bool, int, float, str, list or mapping"


class _NotJson(Exception):
    """A part of a value is not JSON; the path to it is built while the exception propagates, since most values are
    fine.
    """

    def __init__(self, found: object, accepted: str) -> None:
        super().__init__(accepted)
        self.path = ""
        self.found = found
        self.accepted = accepted


def freeze(value: Any, where: str = "value", *, was_kept: bool = False) -> Any:
    """A JSON value as frozen data; parts that are frozen already are shared, not copied.

    Accepts None, bool, int of up to 4 300 digits, finite float, str, mappings with str keys, lists and tuples, at most
    MAX_DEPTH levels of them, and objects with a `to_json()` method (all classes of the vocabulary). Members of
    enumerations and other subclasses of str, int and float become plain texts or numbers, as they would in a file.

    Args:
        was_kept: The value was accepted before, and is now nested a few levels deeper.

    Raises:
        NotJsonError: A part of it is not JSON; says which part and why.
    """
    kind = type(value)
    if kind in FROZEN or (kind is int and TOO_LOW < value < TOO_LONG):
        return value
    try:
        if kind is dict:
            return _frozen_record(value, _KEPT if was_kept else 0)
        return _frozen(value, _KEPT if was_kept else 0)
    except _NotJson as error:
        raise NotJsonError(where + error.path, error.found, error.accepted) from error.__cause__
    except RecursionError:
        raise NotJsonError(where, ..., f"at most {MAX_DEPTH} levels of nesting, and room on the stack") from None


def freeze_item(value: Any, field: str) -> Any:
    """As `freeze`, for an item of a list field: one level of nesting less is accepted.

    Raises:
        NotJsonError: As `freeze`.
    """
    kind = type(value)
    if kind in _SHALLOW or (kind is int and TOO_LOW < value < TOO_LONG):
        return value
    try:
        if kind is dict:
            return _frozen_record(value, 1)
        return _part(value, 0) if kind in DEEP else _frozen(value, 1)
    except _NotJson as error:
        raise NotJsonError(f"{field}[]{error.path}", error.found, error.accepted) from error.__cause__
    except RecursionError:
        raise NotJsonError(f"{field}[]", ..., f"at most {MAX_DEPTH} levels of nesting, and room on the stack") from None


def freeze_fields(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A payload's fields, frozen, in a new dictionary.

    Raises:
        NotJsonError: As `freeze`.
    """
    try:
        return _frozen_fields(data, 0)
    except _NotJson as error:
        raise NotJsonError(where + error.path, error.found, error.accepted) from error.__cause__
    except RecursionError:
        raise NotJsonError(where, ..., f"at most {MAX_DEPTH} levels of nesting, and room on the stack") from None


def freeze_own_fields(data: dict[str, Any], where: str) -> dict[str, Any]:
    """As `freeze_fields`, for a dictionary that the caller does not use again: its values are frozen in place, without
    a copy.

    If a key is a subclass of str, which is rare, the frozen fields are a new dictionary.

    Raises:
        NotJsonError: As `freeze`; the dictionary is then partly frozen.
    """
    try:
        for key in data:
            if type(key) is not str:
                return _frozen_fields(data, 0)
            item = data[key]
            kind = type(item)
            if kind is str or (kind is int and TOO_LOW < item < TOO_LONG) or kind in _SHALLOW:
                continue
            try:
                if kind is dict:
                    data[key] = _frozen_record(item, 1)
                else:
                    data[key] = _part(item, 0) if kind in DEEP else _frozen(item, 1)
            except _NotJson as error:
                error.path = f".{key}{error.path}"
                raise
    except _NotJson as error:
        raise NotJsonError(where + error.path, error.found, error.accepted) from error.__cause__
    except RecursionError:
        raise NotJsonError(where, ..., f"at most {MAX_DEPTH} levels of nesting, and room on the stack") from None
    return data


def exact_text(value: Any, what: str) -> str:
    """A name as a plain str; for a member of an enumeration, its value.

    Raises:
        NotJsonError: The value is not a str.
    """
    if isinstance(value, str):
        return str.__str__(value)
    raise NotJsonError(what, value, "a text")


def _frozen(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is dict:
        return _frozen_record(value, depth)
    if kind is list or kind is tuple:
        return vector_of(_frozen_items(value, depth))
    if kind is float:
        if isfinite(value):
            return value
        raise _NotJson(value, "a finite number")
    if kind is int:
        if TOO_LOW < value < TOO_LONG:
            return value
        raise _NotJson(value, "a whole number of at most 4300 digits")
    if kind in FROZEN:
        return value
    if isinstance(value, Mapping):
        return Record(_frozen_fields(value, depth))
    to_json = getattr(value, "to_json", None)
    if callable(to_json) and not isinstance(value, type):
        if depth > MAX_DEPTH:
            raise _too_deep()
        return _frozen(to_json(), depth + 1)
    # Enums and other subclasses lose their class and their own `__str__`, as they would in a file.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _frozen(int.__int__(value), depth)
    if isinstance(value, float):
        return _frozen(float.__float__(value), depth)
    raise _NotJson(value, _ACCEPTED)


def _too_deep() -> _NotJson:
    return _NotJson(..., f"at most {MAX_DEPTH} levels of nesting")


def _frozen_items(values: Sequence[Any], depth: int) -> list[Any]:
    if depth >= MAX_DEPTH:
        raise _too_deep()
    if len(values) > _MANY and _SHALLOW.issuperset(map(type, values)):
        return list(values)
    items: list[Any] = []
    try:
        for item in values:
            kind = type(item)
            if kind is str or (kind is int and TOO_LOW < item < TOO_LONG) or kind in _SHALLOW:
                items.append(item)
            elif kind is dict:
                items.append(_frozen_record(item, depth + 1))
            else:
                items.append(_part(item, depth) if kind in DEEP else _frozen(item, depth + 1))
    except _NotJson as error:
        error.path = f"[{len(items)}]{error.path}"
        raise
    return items


def _frozen_record(values: dict[str, Any], depth: int) -> Record:
    """The fields of a dict, in a new dictionary; the checks are inline, since most payloads hold some small dicts."""
    if depth >= MAX_DEPTH:
        raise _too_deep()
    made = _new(Record)  # as `record_of` does, without the call
    fields = {**values}
    set_fields(made, fields)
    if len(fields) > _MANY and _SHALLOW.issuperset(map(type, fields.values())) and _TEXT.issuperset(map(type, fields)):
        return made
    for key in fields:  # by key: for a small dictionary half the time of `items()`
        if type(key) is not str:
            return record_of(_frozen_fields(values, depth))
        item = fields[key]
        kind = type(item)
        if kind is str or (kind is int and TOO_LOW < item < TOO_LONG) or kind in _SHALLOW:
            continue
        try:
            if kind is list and depth < MAX_DEPTH - 1:
                for part in item:
                    if type(part) is not str:
                        items = _frozen_items(item, depth + 1)
                        break
                else:
                    items = [*item]
                fields[key] = vector_of(items)
            elif kind is dict:
                fields[key] = _frozen_record(item, depth + 1)
            else:
                fields[key] = _part(item, depth) if kind in DEEP else _frozen(item, depth + 1)
        except _NotJson as error:
            error.path = f".{key}{error.path}"
            raise
    return made


def _frozen_fields(values: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The fields of any mapping, in a new dictionary; accepts keys that are a subclass of str."""
    if depth >= MAX_DEPTH:
        raise _too_deep()
    fields: dict[str, Any] = {}
    for key, item in values.items():
        if type(key) is not str:
            key = _key(key, fields)
        try:
            fields[key] = _part(item, depth) if type(item) in DEEP else _frozen(item, depth + 1)
        except _NotJson as error:
            error.path = f".{key}{error.path}"
            raise
    return fields


def _part(item: Any, depth: int) -> Any:
    """A record or vector inside a list or a mapping, checked by its own known depth."""
    if depth + 1 + depth_of(item) > MAX_DEPTH:
        raise _too_deep()
    return item


def _key(key: Any, fields: Mapping[str, Any]) -> str:
    """A key of a subclass of str, as a plain str."""
    if not isinstance(key, str):
        raise _NotJson(key, "string keys")
    text = str.__str__(key)
    if text in fields:
        raise _NotJson(key, "keys that differ")
    return text
