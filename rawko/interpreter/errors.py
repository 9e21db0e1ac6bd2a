"""Errors of the interpreter.

InterpreterError
├── BindingError            a name bound twice, not bound, or bound to something unusable
├── NotJsonError            a value for the context or an event that is not JSON
├── ContextError            input or assigned value against the context model, unknown field
├── UntrustedCodeError      a chart with Python code, and nobody said `trusted=True`
├── ActionError             a guard, action, input, output or contract failed; rolled back
│   └── ContractFailed      also sismic's PreconditionError, PostconditionError or InvariantError
├── InvocationError         an actor failed and no enabled transition names `error.invoke.<id>`
├── EventlessCycleError     a macrostep that does not end; rolled back
├── MacrostepLimitError     a machine that sends itself events without end
├── SnapshotError           a snapshot that does not fit; nothing was changed
├── MigrationError          a snapshot of another version of the chart that has no place in this one; says why
└── NotRunningError         used before `start()` or after the end, where that makes no sense
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sismic.exceptions import ContractError, InvariantError, PostconditionError, PreconditionError

from rawko.chart.definition import Position
from rawko.cutting import cut, cut_middle

MAX_SHOWN = 12
"""Entries of a list that a message shows."""


def shown(value: object, limit: int = 80) -> str:
    """A value in an error's message: its `repr`, cut; foreign classes and very long numbers may have none."""
    try:
        text = "..." if value is ... else repr(value)
    except Exception as error:  # noqa: BLE001 - whatever a foreign repr raises, the error at hand is the one to tell
        text = f"<{type(value).__name__} without repr: {type(error).__name__}>"
    return cut(text, limit)


class InterpreterError(Exception):
    """Base of all errors of the interpreter."""


class BindingError(InterpreterError):
    """A name is bound twice, is not bound, or is bound to something unusable."""

    def __init__(self, message: str, *, name: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.kind = kind


class NotJsonError(InterpreterError):
    """A value that cannot be kept: contexts and snapshots are JSON (C-26)."""

    def __init__(self, where: str, found: object, accepted: str) -> None:
        kind = "" if found is ... else f" ({type(found).__name__})"
        place = cut_middle(where, 160, "…")
        super().__init__(f"{place}: {shown(found)}{kind} is not JSON; accepted: {accepted}")
        self.where = where
        self.found = found
        self.accepted = accepted


class ContextError(InterpreterError):
    """A value that the context model refuses, or a field that it does not have."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class UntrustedCodeError(InterpreterError):
    """The chart holds Python code, which runs only where the caller says so."""


class ActionError(InterpreterError):
    """Something bound to the chart failed; the machine is as before the event.

    Attributes:
        kind: guard, action, input, output, delay, contract, evaluator or listener.
        where: Chart element, such as "transition selecting -> executing".
        function: Name in the chart.
        position: In the chart's source.
        event: The event that was being processed; it stays consumed.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        where: str,
        function: str,
        position: Position | None = None,
        event: Any = None,
    ) -> None:
        place = f"{position}: " if position else ""
        super().__init__(f"{place}{kind} {function!r} of {where} failed: {message}")
        self.message = message
        self.kind = kind
        self.where = where
        self.function = function
        self.position = position
        self.event = event


class ContractFailed(ActionError, ContractError):
    """A condition of a contract does not hold; carries what sismic's ContractError carries."""

    __str__ = Exception.__str__

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.args = (self._configuration,)  # where sismic's constructor puts its first argument, our message

    def describe(self, configuration: list[str], element: Any, context: dict[str, Any]) -> None:
        """Fill in the fields of sismic's ContractError."""
        self._configuration, self._obj, self._context = configuration, element, context
        self._assertion, self._step = self.function, None


class PreconditionFailed(ContractFailed, PreconditionError):
    """A `before` condition does not hold."""

    __str__ = Exception.__str__


class PostconditionFailed(ContractFailed, PostconditionError):
    """An `after` condition does not hold."""

    __str__ = Exception.__str__


class InvariantFailed(ContractFailed, InvariantError):
    """An `always` condition does not hold."""

    __str__ = Exception.__str__


class InvocationError(InterpreterError):
    """An invoked actor failed and nothing in the configuration handles it; the machine cannot go on.

    Attributes:
        id: Of the invocation.
        error: What the actor reported, as data.
    """

    def __init__(self, id: str, error: Any) -> None:
        message = error.get("message", error) if hasattr(error, "get") else error
        super().__init__(f"actor {id!r} failed and no active state handles 'error.invoke.{id}': {message}")
        self.id = id
        self.error = error


@dataclass(frozen=True, slots=True)
class LoopStep:
    """One microstep of a machine that does not come to rest.

    Attributes:
        event: That it consumed; None for an eventless one.
        transitions: "source -> targets at file:line:col" of each; empty where nothing took the event.
        configuration: Active states after it.
    """

    event: str | None
    transitions: tuple[str, ...]
    configuration: tuple[str, ...]

    def __str__(self) -> str:
        way = "; ".join(self.transitions) or "nothing takes it"
        return f"{self.event or 'eventless'}: {way} {{{', '.join(self.configuration)}}}"


class EventlessCycleError(InterpreterError):
    """A macrostep does not end; it was rolled back.

    Attributes:
        loop: The microsteps that repeat, in order; where the bound was reached, the latest ones.
        cycle: The configurations after each of them, as tuples of state names.
        limit: The bound on microsteps that was reached; None: the machine was back at the same configuration, context,
            history and queue, so that it would have gone round for ever.
        microsteps: That were taken.
    """

    def __init__(self, loop: tuple[LoopStep, ...], microsteps: int, limit: int | None) -> None:
        told = [str(step) for step in loop[:MAX_SHOWN]]
        if len(loop) > MAX_SHOWN:
            told.append(f"... and {len(loop) - MAX_SHOWN} more")
        same = "same configuration, context and queue"
        why = (
            f"after {microsteps} microsteps it is where it was {len(loop)} earlier: {same}"
            if limit is None
            else f"more than {limit} microsteps without rest (the bound `max_microsteps`)"
        )
        name = "the loop is" if limit is None else "the latest are"
        super().__init__(f"{why}; {name}\n  " + "\n  ".join(told))
        self.loop = loop
        self.cycle = tuple(step.configuration for step in loop)
        self.limit = limit
        self.microsteps = microsteps


class MacrostepLimitError(InterpreterError):
    """The machine goes on sending itself events: one call has taken more macrosteps than it may.

    All of them have happened: the machine is at rest between two, what waits still waits, and `execute(max_steps=n)`
    goes on in portions.

    Attributes:
        limit: Macrosteps that one call may take, beside those for the events that waited before.
        events: Names of the latest events, in order.
        steps: What was done, in order.
    """

    def __init__(self, limit: int, steps: Sequence[Any]) -> None:
        events = tuple(step.event.name for step in steps[-MAX_SHOWN:] if step.event is not None)
        configuration = steps[-1].configuration if steps else ()
        super().__init__(
            f"more than {limit} macrosteps in one call (the bound `max_macrosteps`): the machine goes on sending "
            f"itself events; the latest are "
            f"{', '.join(dict.fromkeys(events)) or 'none'}, in {{{', '.join(configuration)}}}"
        )
        self.limit = limit
        self.events = events
        self.steps = tuple(steps)


class SnapshotError(InterpreterError):
    """A snapshot that cannot be restored here; the machine was not changed."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(f"snapshot: {field + ': ' if field else ''}{message}")
        self.field = field


class MigrationError(InterpreterError):
    """A snapshot of another version of a chart cannot go on in this one; nothing was changed.

    Attributes:
        problems: All that has no place, one line each.
    """

    def __init__(self, chart: str, found: str, wanted: str, problems: Sequence[str]) -> None:
        reasons = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"a machine of chart {chart!r}, {found}, cannot go on in {wanted}:{reasons}")
        self.problems = tuple(problems)


class NotRunningError(InterpreterError):
    """The machine has not started, or has ended."""
