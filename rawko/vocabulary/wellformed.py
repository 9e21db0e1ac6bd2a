"""Makes JSON from outside safe for every later reader: whole characters, finite numbers, bounded nesting."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Final

MAX_DEPTH: Final = 100
"""The most levels of lists and objects inside each other; a context accepts 200 in all."""

_HALF: Final = re.compile("[\ud800-\udfff]")
_HIGH: Final = re.compile("[\ud800-\udbff]\\Z")


def whole_text(text: str) -> str:
    """The text with everything that UTF-8 cannot encode replaced: adjacent halves of a surrogate pair become their
    character, a lone half becomes U+FFFD."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def split_half(text: str) -> tuple[str, str]:
    """The text without a first surrogate half at its end, and that half: the next piece may bring the second half."""
    return (text[:-1], text[-1]) if _HIGH.search(text) else (text, "")


def well_formed(value: Any, *, most: int = MAX_DEPTH) -> Any:
    """A copy of a JSON value in which all strings, keys included, are valid Unicode.

    Args:
        most: The most levels of nesting.

    Raises:
        ValueError: The value is nested deeper, or contains a number that JSON cannot express.
    """
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    if isinstance(value, (list, tuple, dict)):
        if most < 1:
            raise ValueError("nested too deeply")
        if isinstance(value, dict):
            # Most texts are ASCII, of which Python knows that without looking at it: they cost no call.
            return {
                key if type(key) is str and key.isascii() else whole_text(str(key)): item
                if type(item) is str and item.isascii()
                else well_formed(item, most=most - 1)
                for key, item in value.items()
            }
        return [well_formed(item, most=most - 1) for item in value]
    return value
