"""Equality and hashes of frozen values as JSON.

Python treats 1, 1.0 and True as equal, and 0.0 and -0.0; as JSON they differ. The order of a mapping's keys is ignored.

    is_same(freeze({"a": 1, "b": 2}), freeze({"b": 2, "a": 1}))    True
    is_same(freeze([1]), freeze([True]))                           False
"""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign
from typing import Any

from rawko.interpreter.data.values import Record, Vector, hash_slot, items_after, shares_items

_BITS = (1 << 61) - 1
_STEP = 1_000_003


def is_same(one: Any, other: Any) -> bool:
    """Whether two frozen values are the same JSON value, with numbers of the same classes."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is Record:
        return same_fields(one.__dict__, other.__dict__)
    if kind is Vector:
        if len(one) != len(other):
            return False
        return shares_items(one, other) or all(map(is_same, one, other))
    if kind is float:
        return bool(one == other and copysign(1.0, one) == copysign(1.0, other))
    return bool(one == other)


def same_fields(fields: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether two mappings have the same names, with the same values."""
    if fields is others:
        return True
    if len(fields) != len(others):
        return False
    return all(name in others and is_same(value, others[name]) for name, value in fields.items())


def hash_of(value: Any) -> int:
    """A hash of a frozen value; values that are the same (`is_same`) have the same hash."""
    kind = type(value)
    if kind is Record:
        return hash_of_fields(value.__dict__)
    if kind is Vector:
        return vector_hash(value)
    return hash(value)


def hash_of_fields(fields: Mapping[str, Any]) -> int:
    """A hash of named values: the sum of their field hashes, so that one field can be replaced without hashing the
    others.
    """
    return sum(field_hash(name, value) for name, value in fields.items()) & _BITS


def field_hash(name: str, value: Any) -> int:
    """The part that one field adds to `hash_of_fields`."""
    return hash((name, hash_of(value)))


def vector_hash(vector: Vector) -> int:
    """The hash of a list, cached in the vector; after `grown_from`, only items beyond the shorter list are hashed."""
    try:
        found: int = hash_slot.__get__(vector)
    except AttributeError:
        found = _folded(0, items_after(vector, 0))
        hash_slot.__set__(vector, found)
    return found


def grown_from(old: Any, new: Any) -> None:
    """Let a list that was grown from `old` by appends reuse the hash of `old`, if that is cached."""
    if type(old) is not Vector or type(new) is not Vector or not shares_items(old, new) or len(old) > len(new):
        return
    try:
        known: int = hash_slot.__get__(old)
    except AttributeError:
        return
    hash_slot.__set__(new, _folded(known, items_after(new, len(old))))


def _folded(found: int, items: list[Any]) -> int:
    for item in items:
        found = (found * _STEP + hash_of(item) + 1) & _BITS
    return found
