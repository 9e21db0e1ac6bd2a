"""Checks a call's input against its tool's JSON Schema; a problem names the field, its value, and accepted values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rawko.cutting import cut

if TYPE_CHECKING:
    from jsonschema import ValidationError

_MAX_PROBLEMS = 5
_MAX_VALUE_CHARS = 80
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class InputCheck:
    """The check of one tool. jsonschema is imported at the first call, because its import takes 0.1 s."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self._validator: Any = None
        self._valid = ""

    def problems(self, value: Any) -> list[str]:
        """One sentence per problem, the first few; empty for a valid input.

        A call is checked before the gate and again before it runs, so the input that was valid last is remembered; as
        text, because `True == 1`.
        """
        text = repr(value)
        if text == self._valid:
            return []
        if self._validator is None:
            from jsonschema import Draft202012Validator
            from referencing import Registry

            # An empty registry: a `$ref` to a URL is not fetched.
            self._validator = Draft202012Validator(self._schema, registry=Registry())
        errors = sorted(
            self._validator.iter_errors(value), key=lambda error: (list(map(str, error.path)), error.message)
        )
        if not errors:
            self._valid = text
        sentences = [sentence for error in errors for sentence in _sentences(error)]
        more = len(sentences) - _MAX_PROBLEMS
        return sentences[:_MAX_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])


def _sentences(error: ValidationError) -> list[str]:
    properties: Mapping[str, Any] = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
    if error.validator == "required":
        # jsonschema reports one error per missing field; its message begins with the field's name.
        required: Any = error.validator_value
        field = next((name for name in required if error.message.startswith(repr(name))), "?")
        return [f"field {_at(error, field)} is missing; expected {_expected(properties.get(field, {}))}"]
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(properties)
        return [_unknown(error, name, known) for name in error.instance if name not in known]
    return [f"field {_at(error)}: found {_value(error.instance)}; expected {_expected(error.schema)}"]


def _at(error: ValidationError, field: str | None = None) -> str:
    path = [str(part) for part in error.absolute_path] + ([field] if field is not None else [])
    return repr(".".join(path)) if path else "'(the whole input)'"


def _unknown(error: ValidationError, name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1) or [field for field in known if name in field or field in name][:1]
    nearest = f"; did you mean {close[0]!r}?" if close else ";"
    accepted = ", ".join(map(repr, known)) or "none"
    return f"field {_at(error, name)} is not known{nearest} accepted fields: {accepted}"


def _value(value: Any) -> str:
    short = cut(json.dumps(value, ensure_ascii=False, default=repr), _MAX_VALUE_CHARS, "…", is_beyond=True)
    return "null" if value is None else f"{short} ({_TYPES.get(type(value), type(value).__name__)})"


def _expected(schema: Any) -> str:
    """A schema in words: `integer, at least 1, at most 10`."""
    if not isinstance(schema, Mapping):
        return "another value"
    kind = schema.get("type", "a value")
    parts = [" or ".join(kind) if isinstance(kind, list) else str(kind)]
    for key, words in (("minimum", "at least"), ("maximum", "at most"), ("minLength", "length at least")):
        if key in schema:
            parts.append(f"{words} {schema[key]}")
    if "enum" in schema:
        parts.append("one of " + ", ".join(map(repr, schema["enum"])))
    return ", ".join(parts)
