"""Values of scalars by YAML 1.2's core schema, so that `on`, `off`, `yes` and `no` are strings."""

from __future__ import annotations

import math
import re

from rawko.chart.definition import Json
from rawko.chart.errors import shown
from rawko.chart.source.nodes import Node, ScalarNode, SequenceNode

MAX_DIGITS = 400
CORE = "tag:yaml.org,2002:"

# YAML 1.2.2, 10.3.2 "Tag resolution" (core schema).
_NULLS = frozenset(("null", "Null", "NULL", "~", ""))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
WORDS = _NULLS.union(_BOOLEANS)
"""Plain texts that are no texts, numbers left out."""
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class NotJsonError(ValueError):
    """A scalar has no JSON value. The message contains the reason."""


def scalar_value(node: ScalarNode) -> Json:
    """The JSON value of a scalar in YAML's core schema.

    Raises:
        NotJsonError: The scalar is .inf, .nan, a number with too many digits, or does not fit its tag.
    """
    text = node.text
    if node.tag is not None:
        return _tagged_value(text, node.tag)
    if node.style is not None:
        return text
    if not text or text[0] in "tTfFnN~.-+0123456789":
        return _plain_value(text)
    return text


def to_json(node: Node) -> Json:
    """The JSON value of a whole tree; keys become strings.

    Raises:
        NotJsonError: A scalar in the tree has no JSON value.
    """
    if isinstance(node, ScalarNode):
        return scalar_value(node)
    if isinstance(node, SequenceNode):
        return [to_json(item) for item in node.items]
    return {name: to_json(value) for name, (_, value) in node.entries.items()}


def _plain_value(text: str) -> Json:
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _NOT_FINITE.fullmatch(text):
        raise NotJsonError(f"{text} is not a JSON number; quote it if text is meant")
    if _INTEGER.fullmatch(text) or _BASED_INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _finite(text)
    return text


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise NotJsonError(f"a number of {len(text)} digits is too long; at most {MAX_DIGITS}")
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text, base)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJsonError(f"{shown(text)} is beyond the largest number")
    return number


def _tagged_value(text: str, tag: str) -> Json:
    kind = tag.removeprefix(CORE)
    if kind == "str":
        return text
    value = _plain_value(text)
    if kind == "float" and type(value) is int:
        return float(value)
    if {"int": int, "float": float, "bool": bool, "null": type(None)}[kind] is not type(value):
        raise NotJsonError(f"{shown(text)} is not of the type that its tag !!{kind} says")
    return value
