"""Writes guards and calls as text; parsing the text gives an equal guard or call."""

from __future__ import annotations

import json

from rawko.chart.definition import (
    And,
    Argument,
    Arguments,
    Constant,
    Guard,
    GuardCall,
    InState,
    Json,
    Not,
    Or,
    Reference,
)


def format_guard(guard: Guard) -> str:
    """Text from which `parse_guard` makes the same guard (for a CodeGuard, its code)."""
    match guard:
        case Not(operand):
            return f"not {_bracketed(operand)}"
        case And(operands):
            return " and ".join(_bracketed(operand) for operand in operands)
        case Or(operands):
            return " or ".join(_bracketed(operand) for operand in operands)
        case Constant(value):
            return "true" if value else "false"
        case InState(state):
            return f"in_state({quoted(state)})"
        case GuardCall(name, arguments):
            return format_call(name, arguments)
        case _:
            return guard.code


def format_call(name: str, arguments: Arguments) -> str:
    """`name` or `name(key=argument, ...)`."""
    if not arguments:
        return name
    given = ", ".join(f"{key}={_format_argument(argument)}" for key, argument in arguments)
    return f"{name}({given})"


def quoted(text: str) -> str:
    """A string literal of the expression language."""
    body = json.dumps(text, ensure_ascii=False)[1:-1].replace("'", "\\'")
    return f"'{body}'"


def _bracketed(guard: Guard) -> str:
    text = format_guard(guard)
    return f"({text})" if isinstance(guard, (And, Or)) else text


def _format_argument(argument: Argument) -> str:
    return str(argument) if isinstance(argument, Reference) else _format_literal(argument.value)


def _format_literal(value: Json) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_format_literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {_format_literal(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
