"""Converts foreign names to names of the chart language: identifiers for bindings, printable unique state names."""

from __future__ import annotations

import re
from keyword import iskeyword

from rawko.chart.expressions.tokens import KEYWORDS
from rawko.chart.grammar import MAX_NAME

_NOT_WORD = re.compile(r"\W+")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


class Identifiers:
    """Converts names of one kind (guards, actions, ...) to identifiers: equal names give equal identifiers, different
    names different ones."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        known = self._by_name.get(name)
        if known is None:
            known = self._by_name[name] = free_name(identifier(name), self._taken)
            self._taken.add(known)
        return known


def is_bindable(name: str) -> bool:
    """Whether the chart language accepts the name for a binding."""
    return name.isidentifier() and name not in KEYWORDS and not iskeyword(name) and len(name) <= MAX_NAME


def identifier(name: str) -> str:
    """The most similar identifier: `fetch-data` becomes `fetch_data`."""
    if is_bindable(name):
        return name
    words = _NOT_WORD.sub("_", name).strip("_")[: MAX_NAME - 8] or "unnamed"
    words = words if words.isidentifier() else f"_{words}"
    words = words if words.isidentifier() else "unnamed"
    return words if is_bindable(words) else f"{words}_"


def printable(name: str) -> str:
    """The most similar valid name of a state or event: one line, no control characters, at most 200 characters."""
    return _UNPRINTABLE.sub(" ", name).strip()[:MAX_NAME].strip() or "unnamed"


def free_name(name: str, taken: set[str]) -> str:
    """The name itself, or with the lowest number that makes it unique."""
    if name not in taken:
        return name
    number = 2
    while (found := f"{name[: MAX_NAME - len(str(number)) - 1]}_{number}") in taken:
        number += 1
    return found
