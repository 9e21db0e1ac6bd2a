"""Data from outside as JSON that every later reader takes: whole characters, finite numbers, bounded nesting."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Final

MAX_DEPTH: Final = 100
"""Levels of lists and objects inside each other; a context takes 200 in all."""

_HALF: Final = re.compile("[\ud800-\udfff]")
_HIGH: Final = re.compile("[\ud800-\udbff]\\Z")


def whole_text(text: str) -> str:
    """The text as UTF-8 can say it: two halves of a surrogate pair side by side become their character, a lone half
    becomes U+FFFD."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def split_half(text: str) -> tuple[str, str]:
    """The text, and the first half of a pair at its end, whose second half may come with the next piece."""
    return (text[:-1], text[-1]) if _HIGH.search(text) else (text, "")


def well_formed(value: Any, *, most: int = MAX_DEPTH) -> Any:
    """A JSON value with whole texts, keys included; a copy of its lists and objects.

    Args:
        most: Levels of nesting that are accepted.

    Raises:
        ValueError: It is nested deeper, or holds a number that JSON cannot say.
    """
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    if isinstance(value, (list, tuple, dict)):
        if most < 1:
            raise ValueError("nested too deeply")
        if isinstance(value, dict):
            return {whole_text(str(key)): well_formed(item, most=most - 1) for key, item in value.items()}
        return [well_formed(item, most=most - 1) for item in value]
    return value
