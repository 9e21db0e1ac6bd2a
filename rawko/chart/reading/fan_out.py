"""Readers of the keys that make an invocation call its actor once per item: `for each`, `join`, `concurrency`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.chart.definition import ForEach, Json, Reference, is_field
from rawko.chart.errors import listed
from rawko.chart.grammar import JOIN, JOIN_POLICIES, OF_ITEMS, OF_ONE_ACTOR
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.reading.values import identifier, literal, one_of
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode, SequenceNode

_ITEMS: Final = "a list, the name of a bound input function, or a field such as context.files"

_join = one_of(JOIN_POLICIES)


def items(reader: Reader, node: Node) -> str | Reference | tuple[Json, ...]:
    """`for each`: a literal list, a field of event or context, or the name of a bound function."""
    if isinstance(node, SequenceNode):
        return tuple(literal(reader, node))
    if not isinstance(node, ScalarNode) or not isinstance(reader.value(node), str):
        reader.wrong_type(node, _ITEMS)
    root, dot, path = node.text.strip().partition(".")
    if not dot:
        return identifier(reader, node)
    parts = tuple(path.split("."))
    if root not in ("context", "event") or not all(part.isidentifier() and is_field(part) for part in parts):
        reader.fail("invalid-expression", node, f"{node.text!r:.80} names no list; accepted: {_ITEMS}")
    return Reference("event" if root == "event" else "context", parts)


def join(reader: Reader, node: Node) -> tuple[str, int]:
    """`join`: a word, or `{quorum: 2}`."""
    if not isinstance(node, MappingNode):
        return _join(reader, node), 0
    given = reader.element(node, JOIN)
    if "quorum" not in given:
        raise Unreadable
    return "quorum", given["quorum"]


def count(reader: Reader, node: Node) -> int:
    """A number of items, at least 1."""
    value = reader.value(node) if isinstance(node, ScalarNode) else None
    if type(value) is not int:
        reader.wrong_type(node, "a number, 1 or more")
    if value < 1:
        reader.fail("invalid-value", node, f"{value} is too low; accepted: a number, 1 or more")
    return value


def concurrency(reader: Reader, node: Node) -> int | str:
    """`concurrency`: a number, or the name of a bound function that returns one."""
    if isinstance(node, ScalarNode) and isinstance(reader.value(node), str):
        return identifier(reader, node)
    return count(reader, node)


def for_each(reader: Reader, mapping: MappingNode, given: Mapping[str, Any]) -> ForEach | None:
    """The fan-out of an invocation from its keys; None if it has no `for each`."""
    places = mapping.entries
    if "for each" not in places:
        for key in OF_ITEMS:
            if key in places:
                reader.report(
                    "conflicting-keys", places[key][0], f"{key!r} is of items; add 'for each', a list of them"
                )
        return None
    for key in OF_ONE_ACTOR:
        if key in places:
            message = f"an invocation with 'for each' has no {key!r}: events of its items reach the machine as they are"
            reader.report("conflicting-keys", places[key][0], message)
    if "input" in given and not isinstance(given["input"], str):
        message = "with 'for each', 'input' is the name of a bound function of (context, event, item, index); "
        message += "without it, each call gets its item"
        reader.report("conflicting-keys", places["input"][0], message)
    if "for each" not in given:
        return None
    policy, quorum = given.get("join", ("all", 0))
    found = given["for each"]
    if isinstance(found, tuple) and quorum > len(found):
        message = f"{quorum} of {len(found)} items can never be done: {listed(map(str, found)) or 'there are none'}"
        reader.report("invalid-value", places["join"][1], message)
    return ForEach(found, policy, quorum, given.get("concurrency"))
