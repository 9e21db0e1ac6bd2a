"""Readers of plain values: names, texts, literals, delays, event descriptors, targets, priorities."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

from rawko.chart.definition import CodeValue, DeclaredEvent, Delay, FixedDelay, Json, NamedDelay, Position
from rawko.chart.errors import certain_correction, hint, shown
from rawko.chart.grammar import (
    DATA_MODELS,
    DECLARED_EVENT,
    ERROR_POLICIES,
    MAX_NAME,
    PRIORITIES,
    RESTORE_POLICIES,
    SELECTIONS,
    STATE_TYPES,
    TIMER_POLICIES,
)
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from rawko.chart.source.scalars import WORDS

# Line breaks and other controls would break messages and diagrams; bidirectional overrides make text misleading.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_DELAY = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
MAX_DELAY_MS = 100 * 365 * 24 * 3_600_000
_DELAY_FORMS = "150ms, 2s, 10m, 1h or the name of a bound delay"


def name(reader: Reader, node: Node) -> str:
    """A name; an integer becomes its digits, as in sismic."""
    if is_plain_name(node, reader):
        return node.text
    scalar = reader.scalar(node, "a name")
    if scalar.is_plain and type(reader.value(scalar)) not in (str, int):
        reader.wrong_type(scalar, "a name")
    return checked_name(reader, scalar, scalar.text)


def is_plain_name(node: Node, reader: Reader) -> TypeGuard[ScalarNode]:
    """Whether a value is a plain text that `name` accepts unchanged. A quick test: some names need the whole of `name`.

    True for a text that was already read as a name, and for an identifier, which has no spaces or control characters.
    """
    if type(node) is not ScalarNode or node.style is not None or node.tag is not None:
        return False
    text = node.text
    if text in reader.plain_names:
        return True
    if not text.isidentifier() or text in WORDS or len(text) > MAX_NAME:
        return False
    reader.plain_names.add(text)
    return True


def checked_name(reader: Reader, node: Node, text: str) -> str:
    if not text.strip():
        reader.fail("invalid-name", node, "a name cannot be empty")
    if text != text.strip():
        reader.fail("invalid-name", node, f"name {shown(text)} starts or ends with a space")
    if len(text) > MAX_NAME:
        reader.fail("invalid-name", node, f"a name of {len(text)} characters is too long; at most {MAX_NAME}")
    if _UNPRINTABLE.search(text):
        reader.fail("invalid-name", node, f"name {shown(text)} holds a control character")
    if isinstance(node, ScalarNode) and node.is_plain:
        reader.plain_names.add(text)
    return text


def identifier(reader: Reader, node: Node) -> str:
    """The name of a bound function or object."""
    text = name(reader, node)
    if not text.isidentifier():
        reader.fail("invalid-name", node, f"{shown(text)} cannot be bound: letters, digits and _ make a bound name")
    return text


def names(reader: Reader, node: Node) -> tuple[str, ...]:
    return tuple(reader.each(reader.sequence(node, "a list of names"), lambda item: name(reader, item)))


def text(reader: Reader, node: Node) -> str:
    scalar = reader.scalar(node, "a text")
    if scalar.is_plain and reader.value(scalar) is None:
        reader.wrong_type(scalar, "a text")
    return scalar.text


def boolean(reader: Reader, node: Node) -> bool:
    value = reader.value(node) if isinstance(node, ScalarNode) else None
    if not isinstance(value, bool):
        reader.wrong_type(node, "true or false")
    return value


def priority(reader: Reader, node: Node) -> int:
    value = reader.value(node) if isinstance(node, ScalarNode) else None
    if type(value) is int:
        return value
    if isinstance(value, str) and value in PRIORITIES:
        return PRIORITIES[value]
    return reader.wrong_type(node, "an integer, high or low")


def literal(reader: Reader, node: Node) -> Json:
    """Any JSON value."""
    if isinstance(node, ScalarNode):
        return reader.value(node)
    if isinstance(node, SequenceNode):
        return reader.each(node.items, lambda item: literal(reader, item))
    return data(reader, node)


def data(reader: Reader, node: Node) -> dict[str, Json]:
    """A mapping of literals. Keys must be strings, as in JSON, because others would change in a snapshot."""
    mapping = reader.mapping(node, "a mapping of literals")
    values: dict[str, Json] = {}
    for key, value in mapping.entries.values():
        if not isinstance(reader.value(key), str):
            reader.fail("not-json", key, f"key {shown(key.text)} is not a text; quote it")
        values[key.text] = literal(reader, value)
    return values


def bound_or_data(reader: Reader, node: Node) -> str | CodeValue | dict[str, Json]:
    """`input`: a bound name or a literal mapping; in a trusted chart, a text that is not a name is Python."""
    if isinstance(node, MappingNode):
        return data(reader, node)
    if not isinstance(node, ScalarNode):
        reader.wrong_type(node, "the name of a bound input or a mapping of literals")
    return _bound_or_code(reader, node)


def bound_or_literal(reader: Reader, node: Node) -> Json:
    """`output`: a text is a bound name, or Python in a trusted chart if it is no name; other values are literals."""
    if isinstance(node, ScalarNode) and isinstance(reader.value(node), str):
        return _bound_or_code(reader, node)
    return literal(reader, node)


def _bound_or_code(reader: Reader, node: ScalarNode) -> str | CodeValue:
    code = node.text.strip()
    if reader.is_trusted and code and not code.isidentifier():
        is_name = code[0] == "(" and code[1:-1].isidentifier()  # in parentheses: a bare name is a bound function
        return CodeValue(code[1:-1] if is_name else code, reader.position(node))
    return identifier(reader, node)


def targets(reader: Reader, node: Node) -> tuple[str, ...]:
    """One target state, or a list of them."""
    if is_plain_name(node, reader):
        return (node.text,)
    if isinstance(node, SequenceNode):
        if not node.items:
            reader.fail("wrong-type", node, "expected at least one target; leave the key out for none")
        return tuple(reader.each(node.items, lambda item: name(reader, item)))
    return (name(reader, node),)


def target_positions(reader: Reader, node: Node) -> tuple[Position, ...]:
    """The position of each target."""
    return tuple(map(reader.position, node.items)) if type(node) is SequenceNode else (reader.position(node),)


def event(reader: Reader, node: Node) -> str:
    """The name of one event, without wildcards."""
    found = _event_text(reader, node)
    if "*" in found:
        reader.fail("invalid-event", node, f"{shown(found)} has a wildcard; name one event here")
    return found


def events(reader: Reader, node: Node) -> tuple[str, ...]:
    """Event descriptors: one, or a list."""
    if is_plain_name(node, reader) and "*" not in node.text:
        return (node.text,)
    if not isinstance(node, SequenceNode):
        return (_descriptor(reader, node),)
    if not node.items:
        reader.fail("wrong-type", node, "expected at least one event; leave the key out for an eventless transition")
    return tuple(reader.each(node.items, lambda item: _descriptor(reader, item)))


def _descriptor(reader: Reader, node: Node) -> str:
    found = _event_text(reader, node)
    if "*" in found and found != "*" and "*" in found.removesuffix(".*"):
        reader.fail("invalid-event", node, f"{shown(found)} has a wildcard in the middle; accepted: 'a', 'a.*', '*'")
    return found


def _event_text(reader: Reader, node: Node) -> str:
    if is_plain_name(node, reader):
        return node.text
    scalar = reader.scalar(node, "the name of an event")
    if scalar.is_plain and type(reader.value(scalar)) not in (str, int):
        reader.wrong_type(scalar, "the name of an event")
    return checked_name(reader, scalar, scalar.text.strip())


def delay(reader: Reader, node: Node) -> Delay:
    """`150ms`, `2s`, `10m`, `1h`, or a bound name."""
    scalar = reader.scalar(node, f"a delay ({_DELAY_FORMS})")
    found = scalar.text.strip()
    if scalar.is_plain and isinstance(reader.value(scalar), (int, float)):
        message = f"{shown(found)} has no unit; write {found}ms or {found}s"
        reader.fail("invalid-delay", scalar, message)
    literal_delay = _DELAY.fullmatch(found)
    if literal_delay:
        return _fixed(reader, scalar, literal_delay)
    if found.isidentifier() and len(found) <= MAX_NAME:
        return NamedDelay(found, reader.position(scalar))
    return reader.fail("invalid-delay", scalar, f"{shown(found)} is not a delay; accepted: {_DELAY_FORMS}")


def _fixed(reader: Reader, node: ScalarNode, found: re.Match[str]) -> FixedDelay:
    amount, unit = found.groups()
    milliseconds = float(amount) * _UNITS[unit]
    if milliseconds > MAX_DELAY_MS:
        reader.fail("invalid-delay", node, f"{shown(node.text)} is longer than 100 years")
    return FixedDelay(milliseconds, node.text.strip())


def declared_events(reader: Reader, node: Node) -> dict[str, DeclaredEvent]:
    """`events:`: a list of names, or a mapping of names to fields."""
    if isinstance(node, SequenceNode):
        pairs: list[tuple[Node, Node | None]] = [(item, None) for item in node.items]
    else:
        mapping = reader.mapping(node, "a list of names or a mapping of names to payload fields")
        pairs = list(mapping.entries.values())
    found: dict[str, DeclaredEvent] = {}
    for key, value in pairs:
        try:
            declared = _declared(reader, key, value)
        except Unreadable:
            continue
        found[declared.name] = declared
    return found


def _declared(reader: Reader, key: Node, value: Node | None) -> DeclaredEvent:
    event_name = event(reader, key)
    place = reader.position(key)
    if value is None or (isinstance(value, ScalarNode) and reader.value(value) is None):
        return DeclaredEvent(event_name, position=place)
    if isinstance(value, SequenceNode):
        return DeclaredEvent(event_name, names(reader, value), position=place)
    wanted = "a list of payload fields, or a mapping with 'fields' and 'description'"
    given = reader.element(reader.mapping(value, wanted), DECLARED_EVENT)
    return DeclaredEvent(event_name, given.get("fields", ()), given.get("description", ""), place)


def one_of(accepted: tuple[str, ...]) -> Callable[[Reader, Node], str]:
    """A reader that accepts only these words."""

    def read(reader: Reader, node: Node) -> Any:
        word = reader.scalar(node, f"one of {', '.join(accepted)}").text
        if word not in accepted:
            message = f"unknown value {shown(word)}{hint(word[:MAX_NAME], accepted, 'accepted')}"
            reader.fail("invalid-value", node, message, certain_correction(word, accepted))
        return word

    return read


_read_state_type = one_of(STATE_TYPES)


def state_type(reader: Reader, node: Node) -> str:
    """A type of states; that of the other state languages is answered with the key that takes its place."""
    if isinstance(node, ScalarNode) and node.text == "parallel":
        accepted = ", ".join(map(shown, STATE_TYPES))
        message = f"unknown value 'parallel'; write 'parallel states' in place of 'states'; accepted: {accepted}"
        reader.fail("invalid-value", node, message)
    return _read_state_type(reader, node)


timer_policy = one_of(TIMER_POLICIES)
restore_policy = one_of(RESTORE_POLICIES)
error_policy = one_of(ERROR_POLICIES)
selection = one_of(SELECTIONS)
data_model = one_of(DATA_MODELS)
