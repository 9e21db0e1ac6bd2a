"""Builds the JSON Schema of the chart language (Draft 2020-12) from the grammar's tables, for editors and tools.

It checks less than the parser: a schema cannot express that names exist, the syntax of expressions, or trust.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from rawko.chart.grammar import (
    ACTION,
    AFTER_ITEM,
    CONTRACT_ITEM,
    DATA_MODELS,
    DECLARED_EVENT,
    DEFAULT_ENTRY,
    DOCUMENT,
    ELEMENTS,
    EMIT,
    ERROR_POLICIES,
    INVOKE,
    JOIN,
    JOIN_POLICIES,
    MAX_NAME,
    MIGRATION,
    MOVE,
    OF_ITEMS,
    OF_ONE_ACTOR,
    OUTCOME,
    PRIORITIES,
    RAISE,
    REFUSED,
    RESTORE_POLICIES,
    SELECTIONS,
    SEND,
    STATE,
    STATE_TYPES,
    STATECHART,
    TIMER_POLICIES,
    TRANSITION,
    USE,
    Element,
    Key,
    Type,
)
from rawko.chart.source.composer import compose
from rawko.chart.source.scalars import to_json

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NAME_PATTERN = r"^\S(.*\S)?$"
_IDENTIFIER = r"[A-Za-z_\u0080-\uffff][0-9A-Za-z_\u0080-\uffff]*"
_DELAY_PATTERN = rf"^([0-9]+(\.[0-9]+)?(ms|s|m|h)|{_IDENTIFIER})$"
# "a", "a.b", "a.*", "*": a wildcard is the whole descriptor or its last part.
_EVENT_PATTERN = r"^[^*]+$"
_DESCRIPTOR_PATTERN = r"^(\*|[^*]+(\.\*)?)$"

_TEXT: Schema = {"type": ["string", "number", "boolean"]}
_NAME: Schema = {"type": ["string", "integer"], "pattern": _NAME_PATTERN, "minLength": 1, "maxLength": MAX_NAME}
_BOUND: Schema = {"type": "string", "pattern": f"^{_IDENTIFIER}$", "maxLength": MAX_NAME}
_PYTHON: Schema = {"type": "string", "pattern": r"\W", "description": "A Python expression (trusted code only)"}
_FIELD: Schema = {"type": "string", "pattern": rf"^(context|event)(\.{_IDENTIFIER})+$"}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_EVENT: Schema = {"type": ["string", "integer"], "pattern": _EVENT_PATTERN, "minLength": 1}
_DESCRIPTOR: Schema = {"type": ["string", "integer"], "pattern": _DESCRIPTOR_PATTERN, "minLength": 1}


def chart_schema() -> Schema:
    """The JSON Schema of a chart's file."""
    definitions = {_id(element): _element(element) for element in ELEMENTS if element is not DOCUMENT}
    definitions[_id(STATE)]["allOf"] = _state_rules()
    definitions[_id(INVOKE)] |= _invoke_rules()
    return {
        "$schema": DIALECT,
        "title": "rawko chart",
        "description": "A statechart as rawko reads it; plain sismic charts are charts, too.",
        **_element(DOCUMENT),
        "$defs": definitions,
    }


def _element(element: Element) -> Schema:
    found: Schema = {
        "description": element.doc,
        "type": "object",
        "properties": {key.name: _key(key) for key in element.keys.values()},
        "additionalProperties": False,
    }
    required = [key.name for key in element.keys.values() if key.is_required]
    if required:
        found["required"] = required
    if element.is_choice:
        found |= {"minProperties": 1, "maxProperties": 1}
    return found


def _key(key: Key) -> Schema:
    return {**SCHEMAS[key.type](), "description": key.doc, "examples": [_example(key)]}


def _example(key: Key) -> Any:
    return to_json(compose(key.example, "<example>").root)


def _id(element: Element) -> str:
    return element.name.replace(" ", "-")


def _ref(element: Element) -> Schema:
    return {"$ref": f"#/$defs/{_id(element)}"}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _one_or_list(item: Schema, *, at_least: int = 0) -> Schema:
    return {"anyOf": [item, {**_list(item), "minItems": at_least}]}


def _outcomes(element: Element) -> Schema:
    return _one_or_list({"anyOf": [_NAME, _ref(element)]})


def _entry() -> Schema:
    return {"anyOf": [_NAME, {**_list(_NAME), "minItems": 1}, _ref(DEFAULT_ENTRY)]}


def _message(element: Element) -> Schema:
    return {"anyOf": [_EVENT, _ref(element)]}


def _actions() -> Schema:
    one: Schema = {"anyOf": [{"type": "string", "minLength": 1}, _ref(ACTION)]}
    return _one_or_list({"anyOf": [*one["anyOf"], _list(one)]})


def _declared_events() -> Schema:
    value = {"anyOf": [{"type": "null"}, _list(_NAME), _ref(DECLARED_EVENT)]}
    return {
        "anyOf": [
            _list(_EVENT),
            {"type": "object", "propertyNames": {"pattern": _EVENT_PATTERN}, "additionalProperties": value},
        ]
    }


def _after() -> Schema:
    names = {"pattern": _DELAY_PATTERN}
    return {"type": "object", "propertyNames": names, "additionalProperties": _outcomes(AFTER_ITEM)}


def _moves() -> Schema:
    one = {"anyOf": [_NAME, _ref(MOVE)]}
    return {"type": "object", "additionalProperties": _one_or_list(one, at_least=1)}


def _changes() -> Schema:
    assign: Schema = {**_ref(ACTION), "required": ["assign"]}
    return _one_or_list({"anyOf": [{"type": "string", "minLength": 1}, assign]})


def _delay() -> Schema:
    return {"type": "string", "pattern": _DELAY_PATTERN}


def _output() -> Schema:
    return {"anyOf": [_BOUND, _PYTHON, {"type": ["object", "array", "number", "boolean", "null"]}]}


SCHEMAS: Final[Mapping[Type, Callable[[], Schema]]] = MappingProxyType(
    {
        Type.STATECHART: lambda: _ref(STATECHART),
        Type.STATE: lambda: _ref(STATE),
        Type.STATES: lambda: _list(_ref(STATE)),
        Type.STATE_TYPE: lambda: {"enum": list(STATE_TYPES)},
        Type.NAME: lambda: dict(_NAME),
        Type.NAMES: lambda: _list(_NAME),
        Type.TEXT: lambda: dict(_TEXT),
        Type.CODE: lambda: dict(_TEXT),
        Type.BOOLEAN: lambda: {"type": "boolean"},
        Type.PRIORITY: lambda: {"anyOf": [{"type": "integer"}, {"enum": sorted(PRIORITIES)}]},
        Type.TARGETS: lambda: _one_or_list(_NAME, at_least=1),
        Type.ENTRY: _entry,
        Type.EVENTS: lambda: _one_or_list(_DESCRIPTOR, at_least=1),
        Type.EVENT: lambda: dict(_EVENT),
        Type.GUARD: lambda: {"type": ["string", "boolean"], "minLength": 1},
        Type.ACTIONS: _actions,
        Type.CONTRACT: lambda: _list(_ref(CONTRACT_ITEM)),
        Type.TRANSITIONS: lambda: _list(_ref(TRANSITION)),
        Type.OUTCOMES: lambda: _outcomes(OUTCOME),
        Type.AFTER: _after,
        Type.INVOKE: lambda: _one_or_list(_ref(INVOKE)),
        Type.INPUT: lambda: {"anyOf": [_BOUND, _PYTHON, {"type": "object"}]},
        Type.OUTPUT: _output,
        Type.DELAY: _delay,
        Type.TIMER_POLICY: lambda: {"enum": list(TIMER_POLICIES)},
        Type.RESTORE_POLICY: lambda: {"enum": list(RESTORE_POLICIES)},
        Type.ITEMS: lambda: {"anyOf": [_BOUND, _FIELD, {"type": "array"}]},
        Type.JOIN: lambda: {"anyOf": [{"enum": list(JOIN_POLICIES)}, _ref(JOIN)]},
        Type.CONCURRENCY: lambda: {"anyOf": [_BOUND, _COUNT]},
        Type.COUNT: lambda: dict(_COUNT),
        Type.ERROR_POLICY: lambda: {"enum": list(ERROR_POLICIES)},
        Type.SELECTION: lambda: {"enum": list(SELECTIONS)},
        Type.DATA_MODEL: lambda: {"enum": list(DATA_MODELS)},
        Type.DATA: lambda: {"type": "object"},
        Type.RAISE: lambda: _message(RAISE),
        Type.SEND: lambda: _message(SEND),
        Type.EMIT: lambda: _message(EMIT),
        Type.DECLARED_EVENTS: _declared_events,
        Type.MIGRATIONS: lambda: _one_or_list(_ref(MIGRATION)),
        Type.MOVES: _moves,
        Type.CHANGES: _changes,
        Type.USE: lambda: _one_or_list(_ref(USE), at_least=1),
        Type.ARGUMENTS: lambda: {"type": "object"},
        Type.EXITS: lambda: {"type": "object", "additionalProperties": _one_or_list(_NAME, at_least=1)},
        Type.VALUE: dict,
    }
)


def _state_rules() -> list[Schema]:
    """The keys that each kind of state refuses, and the keys that exclude each other."""
    rules: list[Schema] = [
        {
            "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
            "then": {"properties": dict.fromkeys(sorted(refused), False)},
        }
        for kind, refused in REFUSED.items()
    ]
    filled = {"minItems": 1}
    rules.append(
        {
            "not": {
                "required": ["states", "parallel states"],
                "properties": {"states": filled, "parallel states": filled},
            }
        }
    )
    rules.append({"if": {"required": ["memory"]}, "then": {"required": ["type"]}})
    rules.append({"if": {"required": ["initial"]}, "then": {"required": ["states"], "properties": {"states": filled}}})
    return rules


def _invoke_rules() -> Schema:
    """The keys that an invocation accepts with and without `for each`."""
    refused: Schema = dict.fromkeys(OF_ONE_ACTOR, False)
    return {
        "dependentRequired": {key: ["for each"] for key in OF_ITEMS},
        "if": {"required": ["for each"]},
        "then": {"properties": {**refused, "input": _BOUND}},
    }
