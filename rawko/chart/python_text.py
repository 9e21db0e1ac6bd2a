"""Writes guards and actions as Python text for stock sismic: bound names become calls of functions.

Only `lowering` uses it; nothing here is executed. Actions that sismic lacks (cancel, emit, log, send to another
machine) become a `notify`, a meta-event of that name for sismic's listeners.
"""

from __future__ import annotations

from collections.abc import Iterable
from keyword import iskeyword
from typing import assert_never

from rawko.chart.definition import (
    Action,
    And,
    Argument,
    Arguments,
    AssignAction,
    BlockAction,
    CallAction,
    CancelAction,
    CodeAction,
    CodeGuard,
    Constant,
    Delay,
    EmitAction,
    FixedDelay,
    Guard,
    GuardCall,
    InState,
    Json,
    LogAction,
    Not,
    Or,
    RaiseAction,
    Reference,
    SendAction,
    flat,
)


def guard_text(guard: Guard) -> str:
    """The guard as a Python expression."""
    match guard:
        case GuardCall(name, arguments):
            return _call(name, arguments)
        case InState(state):
            return f"active({state!r})"
        case Not(operand):
            return f"not ({guard_text(operand)})"
        case And(operands):
            return " and ".join(f"({guard_text(operand)})" for operand in operands)
        case Or(operands):
            return " or ".join(f"({guard_text(operand)})" for operand in operands)
        case Constant(value):
            return repr(value)
        case CodeGuard(code):
            return code
        case _:
            assert_never(guard)


def actions_text(actions: Iterable[Action]) -> str | None:
    """The actions as Python statements, one action per line; None if there are no actions."""
    return "\n".join(action_text(action) for action in flat(actions)) or None


def action_text(action: Action) -> str:
    """The action as Python statements."""
    match action:
        case CallAction(name, arguments):
            return _call(name, arguments)
        case AssignAction(values):
            return "\n".join(_assignment(name, value) for name, value in values) or "pass"
        case RaiseAction(event, data):
            return _sent("send", event, data)
        case SendAction():
            return _send(action)
        case CancelAction(id):
            return _sent("notify", "cancel", [("id", id)])
        case EmitAction(event, data):
            return _sent("notify", event, data)
        case LogAction(message):
            return _sent("notify", "log", [("message", message)])
        case CodeAction(code):
            return code
        case BlockAction():
            raise AssertionError("blocks are written by their actions")
        case _:
            assert_never(action)


def _send(action: SendAction) -> str:
    if action.to is not None:
        given = [("to", action.to), ("event", action.event), ("payload", dict(action.data))]
        return _sent("notify", "send", given)
    delay = "" if action.delay is None else f", delay={_seconds(action.delay)}"
    return _sent("send", action.event, action.data, delay)


def _seconds(delay: Delay) -> str:
    return repr(delay.milliseconds / 1000) if isinstance(delay, FixedDelay) else f"{delay.name}() / 1000"


def _sent(function: str, name: str, data: Iterable[tuple[str, Json]], more: str = "") -> str:
    given = list(data)
    if all(map(_is_name, (key for key, _ in given))):
        arguments = "".join(f", {key}={_literal(value)}" for key, value in given)
    else:
        arguments = f", **{_literal(dict(given))}"
    return f"{function}({name!r}{arguments}{more})"


def _assignment(name: str, value: Json) -> str:
    target = name if _is_name(name) else f"locals()[{name!r}]"
    return f"{target} = {_literal(value)}"


def _call(name: str, arguments: Arguments) -> str:
    return f"{name}({', '.join(f'{key}={_argument(value)}' for key, value in arguments)})"


def _argument(argument: Argument) -> str:
    if not isinstance(argument, Reference):
        return _literal(argument.value)
    if not argument.path:
        return argument.root
    # sismic exposes the context's fields as variables, and the event's payload as attributes.
    first, *rest = argument.path
    head = first if argument.root == "context" else f"event.{first}"
    return head + "".join(f"[{part!r}]" for part in rest)


def _literal(value: Json) -> str:
    """A JSON value as a Python literal."""
    return repr(value)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)
