"""Context fields whose values are few: guards and actions that read no others are called, and their answers are known.

    context: {tries: [0, 3]}        tries is 0, 1, 2 or 3
    has_tries_left                  reads tries alone: it is called, and answers
    is_good                         reads another field, or the event: true and false
    count_try                       assign(tries=context.tries + 1): 0 -> 1 -> 2 -> 3, and then beyond its bounds
    record                          reads another field: tries may be anything afterwards

Functions are called only where the caller trusts them, each twice with frozen values; one that raises or answers
differently is told, and counts as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rawko.chart import definition as d
from rawko.chart.expressions.formatting import format_guard
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.updates import Append, Assign

Value = str | int | float | bool | None
UNKNOWN: Final = object()
"""A value of which nothing is known but its bounds."""


class OutOfBounds(BaseException):
    """An action sets a field to a value that the bounds do not have. Not an `Exception`: see `script.Repeated`."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Unread(BaseException):
    """A function reads what is not known."""


class Known:
    """A context or an event of which some fields are known; reading any other one raises `_Unread`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: Any) -> Any:
        values = object.__getattribute__(self, "_values")
        if name not in values:
            raise _Unread
        return values[name]

    def __contains__(self, name: object) -> bool:
        raise _Unread

    def __iter__(self) -> Iterator[str]:
        raise _Unread

    def __len__(self) -> int:
        raise _Unread

    def __bool__(self) -> bool:
        return True


class BoundedContext:
    """The bounded context fields of one chart, and what its functions make of them.

    Args:
        values: Of each field, in order.
        functions: The chart's own; None: none is called.

    Attributes:
        problems: What was noticed of functions: they raise, or answer differently.
        computed: Guards that were answered.
        known_fields: All fields of the chart's context model; None: it is not known.
    """

    def __init__(self, chart: d.Chart, values: Mapping[str, tuple[Value, ...]], functions: Bindings | None) -> None:
        self.values = values if functions is not None else {}
        self.problems: dict[str, None] = {}
        self.computed: set[str] = set()
        self._functions = functions
        self._guards = {format_guard(call): call for call in _calls(chart)}
        self.known_fields: frozenset[str] | None = None
        self.first = self._first(chart)

    @property
    def answers_guards(self) -> bool:
        """Whether `answer` can know anything."""
        return bool(self.values)

    @property
    def count(self) -> int:
        """Of all combinations of values."""
        count = 1
        for values in self.values.values():
            count *= len(values)
        return count

    def answer(self, guard: str, fields: Mapping[str, Any], event: str) -> bool | None:
        """What a guard says, as a skeleton calls it; None: it may be true or false."""
        call = self._guards.get(guard)
        if call is None or not self.values:
            return None
        answer = self._result("guard", call.name, call.arguments, fields, {"name": event}, bool)
        if answer is not UNKNOWN:
            self.computed.add(guard)
        return None if answer is UNKNOWN else bool(answer)

    def computed_answer(self, call: d.GuardCall, fields: Mapping[str, Any]) -> bool | None:
        """What a condition says of the fields alone; None: it reads more."""
        if not self.values:
            return None
        answer = self._result("guard", call.name, call.arguments, fields, {}, bool)
        return None if answer is UNKNOWN else bool(answer)

    def changes(self, action: d.Action, fields: Mapping[str, Any], event: str) -> dict[str, Any]:
        """What an action sets: a value of each field that it changes, UNKNOWN where it may be any.

        Raises:
            OutOfBounds: See there.
        """
        if not self.values:
            return {}
        if isinstance(action, d.AssignAction):
            found = {name: self._written(value, fields) for name, value in action.values if name in self.values}
        elif isinstance(action, d.CallAction):
            found = self._result("action", action.name, action.arguments, fields, {"name": event}, self._assigned)
            if found is UNKNOWN:
                found = dict.fromkeys(self.values, UNKNOWN)
        else:
            found = dict.fromkeys(self.values, UNKNOWN)
        for name, value in found.items():
            if value is not UNKNOWN and not any(value is one or value == one for one in self.values[name]):
                raise OutOfBounds(f"context field {name!r} leaves its bounds: {value!r}")
        return found

    def _first(self, chart: d.Chart) -> dict[str, Any]:
        """The values with which the chart begins, where its context model says so; UNKNOWN for all others."""
        known: Mapping[str, Any] = {}
        if chart.context is not None and self._functions is not None:
            from rawko.interpreter.data.context_model import context_model
            from rawko.interpreter.errors import InterpreterError

            try:
                known = context_model(self._functions.get("context", chart.context)).initial({})
                self.known_fields = frozenset(known)
            except (InterpreterError, LookupError):
                known = {}
        return {
            name: known[name] if name in known and known[name] in values else UNKNOWN
            for name, values in self.values.items()
        }

    # ------------------------------------------------------------ calls

    def _result(
        self,
        kind: Any,
        name: str,
        arguments: d.Arguments,
        fields: Mapping[str, Any],
        event: Mapping[str, Any],
        read: Callable[[Any], Any],
    ) -> Any:
        """The result of a function, called twice; UNKNOWN where it cannot be known."""
        if self._functions is None or name not in self._functions.names(kind):
            return UNKNOWN
        function = self._functions.get(kind, name)
        try:
            given = {key: self._argument(value, fields) for key, value in arguments}
            results = [read(function(Known(fields), Known(event), **given)) for _ in range(2)]
        except _Unread:
            return UNKNOWN
        except Exception as error:  # noqa: BLE001 - a function of the project: what it raises is told
            self.problems[f"{kind} {name!r} raises {type(error).__name__}: {error}"] = None
            return UNKNOWN
        if results[0] != results[1]:
            self.problems[f"{kind} {name!r} answers differently for the same values"] = None
            return UNKNOWN
        return results[0]

    @staticmethod
    def _argument(value: Any, fields: Mapping[str, Any]) -> Any:
        if isinstance(value, d.LiteralArgument):
            return freeze(value.value, "argument")
        if isinstance(value, d.Reference) and value.root == "context" and len(value.path) == 1:
            return Known(fields)[value.path[0]]
        raise _Unread

    def _written(self, value: Any, fields: Mapping[str, Any]) -> Any:
        if isinstance(value, d.Reference):
            if value.root == "context" and len(value.path) == 1 and value.path[0] in fields:
                return fields[value.path[0]]
            return UNKNOWN
        return value if isinstance(value, str | int | float | bool | None) else UNKNOWN

    def _assigned(self, updates: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for update in _flat(updates):
            if isinstance(update, Assign):
                found |= {name: value for name, value in update.fields.items() if name in self.values}
            elif isinstance(update, Append) and update.field in self.values:
                found[update.field] = UNKNOWN
        return found


def _flat(updates: Any) -> Iterator[Any]:
    if isinstance(updates, tuple | list):
        for one in updates:
            yield from _flat(one)
    elif updates is not None:
        yield updates


def _calls(chart: d.Chart) -> Iterable[d.GuardCall]:
    for transition in chart.transitions:
        if transition.guard is not None:
            yield from _atoms(transition.guard)


def _atoms(guard: d.Guard) -> Iterator[d.GuardCall]:
    if isinstance(guard, d.GuardCall):
        yield guard
    elif isinstance(guard, d.Not):
        yield from _atoms(guard.operand)
    elif isinstance(guard, d.And | d.Or):
        for operand in guard.operands:
            yield from _atoms(operand)


def chosen(name: str, values: Sequence[Value], ask: Callable[[str], bool]) -> Value:
    """One of the values, by questions: "tries is 0"? "tries is 1"? ..., else the last."""
    for value in values[:-1]:
        if ask(f"{name} is {value!r}"):
            return value
    return values[-1]
