"""Reads executable content of SCXML as actions: raise, send, cancel, log, and rawko's own elements.

assign, script, if and foreach work on data: without a data model they are errors; with Python's data model they become
code (`python_code`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from math import isfinite

from rawko.chart.definition import (
    Action,
    AssignAction,
    CancelAction,
    CodeAction,
    Delay,
    EmitAction,
    FixedDelay,
    Json,
    LogAction,
    NamedDelay,
    RaiseAction,
    SendAction,
)
from rawko.chart.errors import shown
from rawko.chart.expressions.parser import parse_call
from rawko.chart.expressions.tokens import ExpressionError
from rawko.chart.formats.names import printable
from rawko.chart.formats.scxml import python_code
from rawko.chart.formats.scxml.source import Source
from rawko.chart.formats.scxml.xml import XmlElement
from rawko.chart.formats.yaml_writer import delay_text
from rawko.chart.reading.reader import Unreadable
from rawko.chart.reading.values import MAX_DELAY_MS

# CSS2 times (SCXML 6.2.4).
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h)?", re.ASCII)
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_COMPUTED = ("eventexpr", "targetexpr", "typeexpr", "delayexpr", "sendidexpr", "idlocation", "namelist")
_INTERNAL = "#_internal"


def actions(source: Source, element: XmlElement) -> tuple[Action, ...]:
    """The actions of a block, in order; foreign elements are reported as losses and left out."""
    found: list[Action] = []
    for child in element.children:
        reader = _READERS.get(child.tag)
        try:
            if reader is not None:
                found.append(reader(source, child))
            elif child.tag.startswith("{"):
                source.lost(child, f"foreign element {shown(child.tag)} is left out")
            else:
                source.report("unknown-key", child, f"<{child.tag}> is no executable content")
        except Unreadable:
            continue
    return tuple(found)


def parameters(source: Source, element: XmlElement) -> dict[str, Json]:
    """The literals of `<param>` and `<content>`."""
    found: dict[str, Json] = {}
    for child in element.of("param"):
        if "location" in child.attributes:
            source.needs_data_model(child, "a location")
        if "name" not in child.attributes:
            source.fail("missing-key", child, "<param> needs the attribute 'name'")
        found[child.attributes["name"]] = source.literal(child, source.required(child, "expr"), "expr")
    for child in element.of("content"):
        value = source.literal(child, child.attributes.get("expr") or child.text, "content")
        if not isinstance(value, dict):
            source.fail("wrong-type", child, "the payload of an event is an object here: use <param> or a JSON object")
        found |= value
    return found


def block(source: Source, element: XmlElement) -> tuple[Action, ...]:
    """As `actions`; with Python's data model, content that is not literal becomes code."""
    if not source.is_code:
        return actions(source, element)
    found: list[Action] = []
    for child in element.children:
        try:
            if _is_plain(child):
                found.append(_READERS[child.tag](source, child))
            elif code := python_code.statements(source, child):
                found.append(CodeAction(code, child.position))
        except Unreadable:
            continue
    return tuple(found)


def _is_plain(element: XmlElement) -> bool:
    """Whether the element has the same meaning with and without a data model."""
    given = element.attributes
    match element.tag:
        case "raise" | "cancel":
            return given.keys() <= {"event", "sendid"} and _is_name(given.get("event", "x"))
        case "log":
            return "expr" not in given
        case "send":
            target = given.get("target", "#_internal")
            return (
                given.keys() <= {"event", "delay", "target", "id"}
                and all(map(_is_literal, element.children))
                and _is_name(given.get("event", ""))
                and target in (_INTERNAL, "#_parent")  # code reports at once that another machine does not exist
                and not (target == _INTERNAL and "target" in given and ("delay" in given or "id" in given))
                and given.get("id", "x").strip() == printable(given.get("id", "x"))
                and is_time(given.get("delay", ""))
            )
        case tag:
            return tag.startswith("rawko:")


def _is_literal(child: XmlElement) -> bool:
    """Whether a child of a send is a literal with a name."""
    return child.tag == "param" and child.attributes.keys() == {"name", "expr"} and is_literal(child.attributes["expr"])


def is_literal(code: str) -> bool:
    """Whether code is a literal that JSON can express."""
    try:
        return is_json(ast.literal_eval(code.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def is_json(found: object) -> bool:
    """Whether a Python value is valid JSON as it is."""
    if isinstance(found, dict):
        return all(isinstance(key, str) and is_json(item) for key, item in found.items())
    if isinstance(found, list):
        return all(map(is_json, found))
    return found is None or isinstance(found, (str, bool, int)) or (isinstance(found, float) and isfinite(found))


def _is_name(event: str) -> bool:
    return bool(event.strip()) and event.strip() == printable(event) and "*" not in event


def is_time(text: str) -> bool:
    """Whether a delay can be parsed."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return not text.strip()
    return (found[2] is not None or not float(found[1])) and float(found[1]) * _UNITS.get(found[2], 1) <= MAX_DELAY_MS


def _raise(source: Source, element: XmlElement) -> Action:
    return RaiseAction(_event(source, element), (), element.position)


def _send(source: Source, element: XmlElement) -> Action:
    _refuse_computed(source, element)
    event, data = _event(source, element), tuple(parameters(source, element).items())
    target = element.attributes.get("target", "")
    if target == _INTERNAL:
        return RaiseAction(event, data, element.position)
    given = element.attributes.get("id", "").strip()
    id = printable(given) if given else None
    return SendAction(event, data, _actor(source, element, target), _delay(source, element), id, element.position)


def _actor(source: Source, element: XmlElement, target: str) -> str | None:
    """`#_parent` is the parent, `#_<id>` the invocation with that id, no target this machine."""
    if not target:
        return None
    if not target.startswith("#_") or target.startswith("#_scxml_"):
        accepted = "accepted: '#_internal', '#_parent', '#_<invoke id>'"
        source.fail("invalid-value", element, f"target {shown(target)} is no actor of this machine; {accepted}")
    return printable(target.removeprefix("#_"))


def _cancel(source: Source, element: XmlElement) -> Action:
    _refuse_computed(source, element)
    return CancelAction(printable(source.required(element, "sendid")), element.position)


def _log(source: Source, element: XmlElement) -> Action:
    label, text = element.attributes.get("label", ""), element.attributes.get("expr", "").strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]:
        text = text[1:-1]
    elif text:
        source.lost(element, f"log writes the expression {shown(text)} itself: its value needs a data model")
    return LogAction(": ".join(part for part in (label, text) if part) or "log", element.position)


def _call(source: Source, element: XmlElement) -> Action:
    try:
        return parse_call(source.required(element, "action"), lambda offset: element.position)
    except ExpressionError as error:
        source.fail("invalid-expression", element, f"action: {error.message}")


def _assign(source: Source, element: XmlElement) -> Action:
    return AssignAction(tuple(parameters(source, element).items()), element.position)


def _emit(source: Source, element: XmlElement) -> Action:
    return EmitAction(_event(source, element), tuple(parameters(source, element).items()), element.position)


def _data(source: Source, element: XmlElement) -> Action:
    source.needs_data_model(element, f"<{element.tag}>")


_READERS: dict[str, Callable[[Source, XmlElement], Action]] = {
    "raise": _raise,
    "send": _send,
    "cancel": _cancel,
    "log": _log,
    "assign": _data,
    "script": _data,
    "if": _data,
    "foreach": _data,
    "rawko:call": _call,
    "rawko:assign": _assign,
    "rawko:emit": _emit,
}


def _event(source: Source, element: XmlElement) -> str:
    if element.tag == "send" and "eventexpr" in element.attributes:
        source.needs_data_model(element, "eventexpr")
    event = source.required(element, "event")
    if "*" in event or event != printable(event):
        source.fail("invalid-event", element, f"{shown(event)} is no name of an event")
    return event


def _refuse_computed(source: Source, element: XmlElement) -> None:
    for attribute in _COMPUTED:
        is_name = attribute == "delayexpr" and source.is_own
        if attribute in element.attributes and not is_name:
            source.needs_data_model(element, attribute)


def _delay(source: Source, element: XmlElement) -> Delay | None:
    named = element.attributes.get("delayexpr", "").strip()
    if named.isidentifier():  # only in documents that rawko wrote; others were refused before
        return NamedDelay(named, element.position)
    text = element.attributes.get("delay", "").strip()
    found = _TIME.fullmatch(text)
    if not text:
        return None
    if found is None or (found[2] is None and float(found[1])):
        source.fail("invalid-delay", element, f"delay {shown(text)} is no time such as '2s' or '150ms'")
    milliseconds = float(found[1]) * _UNITS.get(found[2], 1)
    if milliseconds > MAX_DELAY_MS:
        source.fail("invalid-delay", element, f"delay {shown(text)} is longer than 100 years")
    return FixedDelay(milliseconds, delay_text(milliseconds)) if milliseconds else None
