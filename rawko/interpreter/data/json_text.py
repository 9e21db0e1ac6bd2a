"""Frozen values as JSON text, and back, without plain dicts and lists in between.

To write, the encoder looks into records and vectors as they are. To read, what the parser made becomes the inside of
records and vectors: it belongs to nobody else, so that nothing has to be copied.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from rawko.interpreter.data.values import MAX_DEPTH, Record, Vector, record_of, vector_of
from rawko.interpreter.errors import NotJsonError

_SURROUNDING = 16
"""Levels of a snapshot around a value that was accepted with MAX_DEPTH of its own."""


def to_text(value: Any) -> str:
    """A frozen value, or a plain one with frozen parts, as the text that `json.dumps` gives of its plain form.

    Raises:
        TypeError: Something in it is not JSON.
    """
    return _encode(value)


def _inside(value: Any) -> Any:
    kind = type(value)
    if kind is Record:
        return value.__dict__
    if kind is Vector:
        return value._buffer[: value._length]
    raise TypeError(f"{kind.__name__} is not JSON")


_encode = json.JSONEncoder(default=_inside, check_circular=False).encode  # frozen values hold no circles


def from_text(text: str | bytes) -> Any:
    """A JSON text as a frozen value.

    Raises:
        ValueError: It is not JSON (`json.JSONDecodeError`), or UnicodeDecodeError.
        NotJsonError: It holds a number that is not finite, or more than MAX_DEPTH levels.
    """
    try:
        return _owned(json.loads(text), 0)
    except RecursionError:
        raise _too_deep() from None


def _owned(value: Any, depth: int) -> Any:
    """A parsed value, frozen in place."""
    kind = type(value)
    if kind is float:
        if isfinite(value):
            return value
        raise NotJsonError("value", value, "a finite number")
    if depth >= MAX_DEPTH + _SURROUNDING:
        raise _too_deep()
    if kind is list:
        for place, item in enumerate(value):
            kind = type(item)
            if kind is dict:
                for key, part in item.items():
                    kind = type(part)
                    if kind is list or kind is dict or kind is float:
                        item[key] = _owned(part, depth + 2)
                value[place] = record_of(item)
            elif kind is list or kind is float:
                value[place] = _owned(item, depth + 1)
        return vector_of(value)
    if kind is dict:
        for key, part in value.items():
            kind = type(part)
            if kind is list or kind is dict or kind is float:
                value[key] = _owned(part, depth + 1)
        return record_of(value)
    return value


def _too_deep() -> NotJsonError:
    return NotJsonError("value", ..., f"at most {MAX_DEPTH} levels of nesting")
