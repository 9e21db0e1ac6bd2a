"""Writes guards, actions and delays of a chart as names in XState's JSON, and reports what JavaScript must provide.

- A name stays a name; literal arguments become `params`.
- Anything else (`a and not b`, `in_state('x')`, arguments from event or context) has its text as the name:
  `setup({guards: {"a and not b": and(["a", not("b")])}})`. The loss says what to provide.
- Actions that are data get XState's built-in name as type (`xstate.raise`, ...), with `params`. JSON cannot contain
  XState's built-ins themselves; docs/formats.md shows the few lines of JavaScript that provide them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from rawko.chart.definition import (
    Action,
    And,
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
    LiteralArgument,
    LogAction,
    Not,
    Or,
    Position,
    RaiseAction,
    SendAction,
    flat,
)
from rawko.chart.expressions.formatting import format_call, format_guard
from rawko.chart.formats.exchange import Losses
from rawko.chart.formats.xstate.tree import escaped

_BUILT_INS = "provide the action {type!r} (docs/formats.md): JSON cannot hold XState's built-in actions"


class Functions:
    """Writes guards and actions of one chart."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses

    # ------------------------------------------------------------ guards

    def guard(self, guard: Guard | None, place: Position) -> Any:
        """A guard; None if there is none."""
        if guard is None or guard == Constant(True):
            return None
        if isinstance(guard, GuardCall) and _params(guard.arguments) is not None:
            return _call(guard.name, guard.arguments)
        text = format_guard(guard)
        self._losses.once(place, f"provide the guard {text!r} as {javascript(guard)}: JSON holds names only")
        return text

    # ------------------------------------------------------------ actions

    def actions(self, actions: Sequence[Action]) -> list[Any]:
        return [self._action(action) for action in flat(actions)]

    def _action(self, action: Action) -> Any:
        match action:
            case CallAction(name, arguments, position):
                if _params(arguments) is not None:
                    return _call(name, arguments)
                text = format_call(name, arguments)
                self._losses.once(position, f"provide the action {text!r}: JSON holds no arguments out of events")
                return text
            case CodeAction(code, position):
                self._losses.add(
                    position, "provide this Python code as an action: its text is written as the name of one"
                )
                return code
            case AssignAction(values):
                return self._built_in(action, "xstate.assign", dict(values))
            case RaiseAction(event, data):
                return self._built_in(action, "xstate.raise", {"event": {"type": event, **dict(data)}})
            case EmitAction(event, data):
                return self._built_in(action, "xstate.emit", {"event": {"type": event, **dict(data)}})
            case SendAction(event, data, to, delay, id):
                message = {"to": to, "event": {"type": event, **dict(data)}, "id": id}
                return self._built_in(action, "xstate.sendTo", {**message, "delay": delay and delay_key(delay)})
            case CancelAction(id):
                return self._built_in(action, "xstate.cancel", {"id": id})
            case LogAction(message):
                return self._built_in(action, "xstate.log", {"message": message})
            case BlockAction():
                raise AssertionError("blocks are written by their actions")
            case _:
                assert_never(action)

    def _built_in(self, action: Action, type: str, params: dict[str, Json]) -> dict[str, Any]:
        self._losses.once(action.position, _BUILT_INS.format(type=type))
        return {"type": type, "params": {key: _json(value) for key, value in params.items() if value is not None}}


def delay_key(delay: Delay) -> str | float:
    """A delay in XState's form: a number of milliseconds, or a name."""
    if not isinstance(delay, FixedDelay):
        return delay.name
    return int(delay.milliseconds) if delay.milliseconds.is_integer() else delay.milliseconds


def javascript(guard: Guard) -> str:
    """The JavaScript to provide for a guard."""
    match guard:
        case Not(operand):
            return f"not({javascript(operand)})"
        case And(operands):
            return f"and([{', '.join(map(javascript, operands))}])"
        case Or(operands):
            return f"or([{', '.join(map(javascript, operands))}])"
        case InState(state):
            return f"stateIn({_quoted(f'#{escaped(state)}')})"
        case Constant(value):
            return f"() => {'true' if value else 'false'}"
        case GuardCall(name, ()):
            return _quoted(name)
        case GuardCall(name, arguments):
            return f"{{ type: {_quoted(name)}, params: {_javascript_params(arguments)} }}"
        case CodeGuard():
            return "a function: its text is Python"
        case _:
            assert_never(guard)


def _javascript_params(arguments: Arguments) -> str:
    given = ", ".join(
        f"{key}: {json.dumps(_json(value.value)) if isinstance(value, LiteralArgument) else value}"
        for key, value in arguments
    )
    is_dynamic = _params(arguments) is None
    return f"({{ context, event }}) => ({{ {given} }})" if is_dynamic else f"{{ {given} }}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _params(arguments: Arguments) -> dict[str, Json] | None:
    """Arguments as JSON; None if one of them is a look-up in the event or the context."""
    if all(isinstance(value, LiteralArgument) for _, value in arguments):
        return {key: _json(value.value) for key, value in arguments if isinstance(value, LiteralArgument)}
    return None


def _call(name: str, arguments: Arguments) -> Any:
    return {"type": name, "params": _params(arguments)} if arguments else name


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, (list, tuple)) else value
