"""Reads `cond` of SCXML's null data model: `In('state')` and combinations; and guards of charts exported by rawko.

In('a') and not In("b")     !In('a') && (In('b') || true)
"""

from __future__ import annotations

import re

from rawko.chart.definition import Guard, InState, Position
from rawko.chart.expressions.parser import parse_guard
from rawko.chart.expressions.tokens import ExpressionError
from rawko.chart.lint.walk import leaves

_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_SPELLINGS = ((re.compile(r"&&"), " and "), (re.compile(r"\|\|"), " or "), (re.compile(r"!(?!=)"), " not "))
_IN = re.compile(r"\bIn\s*\(")


def condition(text: str, place: Position, *, allows_names: bool) -> Guard | None:
    """The guard of a condition; None if the condition needs a data model.

    Args:
        allows_names: Accept names of bound guards, as in documents that rawko exported.
    """
    try:
        guard = parse_guard(_respelled(text), lambda offset: place)
    except ExpressionError:
        return None
    is_plain = all(isinstance(leaf, InState) for leaf in leaves(guard))
    return guard if is_plain or allows_names else None


def _respelled(text: str) -> str:
    """Replace SCXML's and JavaScript's spelling by ours; quoted texts stay."""
    parts: list[str] = []
    end = 0
    for found in _STRING.finditer(text):
        parts += [_words(text[end : found.start()]), found.group()]
        end = found.end()
    return "".join((*parts, _words(text[end:]))).strip()


def _words(text: str) -> str:
    for pattern, word in _SPELLINGS:
        text = pattern.sub(word, text)
    return _IN.sub("in_state(", text)
