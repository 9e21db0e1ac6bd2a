"""Cuts long texts and lists of values for a page; each cut states the whole length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_CHARS: Final = 20_000
"""The most characters of one text inside an answer."""
MAX_ITEMS: Final = 200
"""The most items of one list; the last items are kept, since lists grow at their end."""
CUT: Final = "…cut"


def shown(value: Any) -> Any:
    """A value of a run with long texts and lists cut; {"…cut": whole length, "head": ...} replaces each of them."""
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARS else {CUT: len(value), "head": value[:MAX_CHARS]}
    if isinstance(value, Mapping):
        return {str(name): shown(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        items = [shown(part) for part in value[-MAX_ITEMS:]]
        return items if len(value) <= MAX_ITEMS else [{CUT: len(value), "head": f"the last {MAX_ITEMS}"}, *items]
    return value
