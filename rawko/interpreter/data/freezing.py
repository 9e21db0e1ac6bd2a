"""`freeze`, the one gate by which data enters a context (C-26).

What is not JSON is refused here, and so is what JSON could not give back: numbers too long to be written, and nesting
beyond MAX_DEPTH, also where it has grown step by step. The frozen values themselves are in `values`.

A value is looked at once: `freeze({"plan": [{"id": 1}]})` makes a record that holds a vector that holds a record. To
freeze that record again, or one that shares parts of it, costs one look at its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from rawko.interpreter.data.values import DEEP, Record, Vector, depth_of, record_of, set_fields, vector_of
from rawko.interpreter.errors import NotJsonError

FROZEN = frozenset({str, bool, type(None), Record, Vector})
"""Classes of values that `freeze` gives back as they are; whole numbers are, too, where they are not too long."""
_SHALLOW = frozenset({str, bool, type(None)})
_TEXT = frozenset({str})
MAX_DEPTH = 200
"""Levels of lists and mappings in a value that is accepted."""
_KEPT = -16
"""Where counting starts for what was accepted once, and now stands deeper in a snapshot or an event."""
_MANY = 8
"""Items above which it pays to look whether all of them are scalar before looking at each."""
TOO_LONG: Final = 10**4300
"""Whole numbers from here on (and below its negative) have more digits than Python and others read or write."""
TOO_LOW: Final = -TOO_LONG
"""That negative, worked out once: to negate so long a number takes longer than all else that is asked of a value."""
_new = object.__new__
_ACCEPTED = "None, bool, int, float, str, list or mapping"


class _NotJson(Exception):
    """Something in a value is not JSON; the path to it is put together on the way out, as most values are."""

    def __init__(self, found: object, accepted: str) -> None:
        super().__init__(accepted)
        self.path = ""
        self.found = found
        self.accepted = accepted


def freeze(value: Any, where: str = "value", *, was_kept: bool = False) -> Any:
    """A JSON value as frozen data; already frozen parts are shared, not copied.

    Accepts None, bool, int of up to 4 300 digits, finite float, str, mappings with str keys, lists and tuples, at most
    MAX_DEPTH levels of them, and objects with a `to_json()` method (all of the vocabulary). Members of enumerations and
    other subclasses of str, int and float are kept as the plain text or number that they are, as in a file.

    Args:
        was_kept: It was accepted before, and stands a few levels deeper now.

    Raises:
        NotJsonError: Something in it is not JSON; says where and what.
    """
    kind = type(value)
    if kind in FROZEN or (kind is int and TOO_LOW < value < TOO_LONG):
        return value
    try:
        if kind is dict:
            return record_of(_frozen_dict(value, _KEPT if was_kept else 0))
        return _frozen(value, _KEPT if was_kept else 0)
    except _NotJson as error:
        raise NotJsonError(where + error.path, error.found, error.accepted) from error.__cause__
    except RecursionError:
        raise NotJsonError(where, ..., f"at most {MAX_DEPTH} levels of nesting, and room on the stack") from None


def freeze_item(value: Any, field: str) -> Any:
    """As `freeze`, for a value that will stand in the list of a field: one level less is accepted.

    Raises:
        NotJsonError: As `freeze`.
    """
    kind = type(value)
    if kind in _SHALLOW or (kind is int and TOO_LOW < value < TOO_LONG):
        return value
    try:
        if kind is dict:
            return record_of(_frozen_dict(value, 1))
        return _part(value, 0) if kind in DEEP else _frozen(value, 1)
    except _NotJson as error:
        raise NotJsonError(f"{field}[]{error.path}", error.found, error.accepted) from error.__cause__
    except RecursionError:
        raise NotJsonError(f"{field}[]", ..., f"at most {MAX_DEPTH} levels of nesting, and room on the stack") from None


def freeze_fields(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A payload's fields, frozen, in a dictionary of their own.

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
    """As `freeze_fields`, for a dictionary that the caller gives away: its values are frozen in place, without a copy.

    Where a key is a subclass of str, which is rare, the frozen fields are a dictionary of their own.

    Raises:
        NotJsonError: As `freeze`; then the dictionary is half done.
    """
    try:
        for key in data:
            if type(key) is not str:
                return _frozen_fields(data, 0)
            item = data[key]
            kind = type(item)
            if kind is str or kind in _SHALLOW or (kind is int and TOO_LOW < item < TOO_LONG):
                continue
            try:
                if kind is dict:
                    record = _new(Record)  # as `record_of` does, without the call
                    set_fields(record, _frozen_dict(item, 1))
                    data[key] = record
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
    """A name as the plain text that it is: that of an enumeration's member is its value.

    Raises:
        NotJsonError: It is no text.
    """
    if isinstance(value, str):
        return str.__str__(value)
    raise NotJsonError(what, value, "a text")


def _frozen(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is dict:
        return record_of(_frozen_dict(value, depth))
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
    # Enums and other subclasses lose their class, as they would in a file, and whatever they say of themselves.
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
            if kind in _SHALLOW or (kind is int and TOO_LOW < item < TOO_LONG):
                items.append(item)
            elif kind is dict:
                items.append(record_of(_frozen_dict(item, depth + 1)))
            else:
                items.append(_part(item, depth) if kind in DEEP else _frozen(item, depth + 1))
    except _NotJson as error:
        error.path = f"[{len(items)}]{error.path}"
        raise
    return items


def _frozen_dict(values: dict[str, Any], depth: int) -> dict[str, Any]:
    """As `_frozen_fields`, of a dictionary, in two thirds of the time: most payloads hold some small ones."""
    if depth >= MAX_DEPTH:
        raise _too_deep()
    if len(values) > _MANY and _SHALLOW.issuperset(map(type, values.values())) and _TEXT.issuperset(map(type, values)):
        return dict(values)
    fields: dict[str, Any] = {}
    for key in values:  # looked up by key: of a small dictionary that takes half the time of `items()`
        if type(key) is not str:
            return _frozen_fields(values, depth)
        item = values[key]
        kind = type(item)
        if kind is str or kind in _SHALLOW or (kind is int and TOO_LOW < item < TOO_LONG):
            fields[key] = item
            continue
        try:
            if kind is list and depth < MAX_DEPTH - 1:
                for part in item:
                    if type(part) not in _SHALLOW:
                        items = _frozen_items(item, depth + 1)
                        break
                else:
                    items = [*item]
                fields[key] = vector_of(items)
            else:
                fields[key] = _part(item, depth) if kind in DEEP else _frozen(item, depth + 1)
        except _NotJson as error:
            error.path = f".{key}{error.path}"
            raise
    return fields


def _frozen_fields(values: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The fields of any mapping, also with keys that are a subclass of str, in a dictionary of their own."""
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
    """A record or vector that stands in a list or a mapping: it brings its own depth."""
    if depth + 1 + depth_of(item) > MAX_DEPTH:
        raise _too_deep()
    return item


def _key(key: Any, fields: Mapping[str, Any]) -> str:
    """A key that is a subclass of str, as the plain text that it is."""
    if not isinstance(key, str):
        raise _NotJson(key, "string keys")
    text = str.__str__(key)
    if text in fields:
        raise _NotJson(key, "keys that differ")
    return text
