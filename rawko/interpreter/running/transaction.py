"""One macrostep in the making: what was changed and what is to be done, so that it commits whole or not at all.

Changes of the agenda are staged and applied at the commit; changes of context, history and invocations are made at
once and undone from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rawko.chart.definition import Position
from rawko.interpreter.data.effects import Effect
from rawko.interpreter.data.events import Event, InternalEvent
from rawko.interpreter.data.updates import Update
from rawko.interpreter.running.event_queue import Agenda, Timer

NONE_FAILED: frozenset[int] = frozenset()
MISSING: Any = object()
"""The old value of a context field that did not exist."""


class Failed(Exception):
    """A guard, action, input, output, delay, contract or evaluator raised; the cause is chained.

    `is_contract` names the sismic class of a contract's failure: before, after or always.
    """

    def __init__(
        self,
        kind: str,
        where: str,
        function: str,
        position: Position | None,
        cause: BaseException | str,
        *,
        contract: str = "",
        element: Any = None,
    ) -> None:
        super().__init__(function)
        self.kind = kind
        self.where = where
        self.function = function
        self.position = position
        self.cause = cause
        self.contract = contract
        self.element = element

    @property
    def message(self) -> str:
        if isinstance(self.cause, str):
            return self.cause
        return f"{type(self.cause).__name__}: {self.cause}" if str(self.cause) else type(self.cause).__name__


class ListenerFailed(Exception):
    """A listener raised; its own error is the cause and goes to the caller as it is."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Invocation:
    """A running invocation."""

    id: str
    state: str | None
    src: str
    input: Any
    number: int
    attempt: int = 1
    started: float = 0.0
    policy: str = "restart"
    is_held: bool = False
    timeout_s: float | None = None


_new = object.__new__
_set_id, _set_state = Invocation.__dict__["id"].__set__, Invocation.__dict__["state"].__set__
_set_src, _set_input = Invocation.__dict__["src"].__set__, Invocation.__dict__["input"].__set__
_set_number, _set_attempt = Invocation.__dict__["number"].__set__, Invocation.__dict__["attempt"].__set__
_set_started, _set_policy = Invocation.__dict__["started"].__set__, Invocation.__dict__["policy"].__set__
_set_is_held, _set_timeout = Invocation.__dict__["is_held"].__set__, Invocation.__dict__["timeout_s"].__set__


def new_invocation(
    id: str,
    state: str | None,
    src: str,
    input: Any,
    number: int,
    started: float,
    policy: str,
    timeout_s: float | None,
) -> Invocation:
    """The first attempt of an invocation, made in half the time."""
    invocation = _new(Invocation)
    _set_id(invocation, id)
    _set_state(invocation, state)
    _set_src(invocation, src)
    _set_input(invocation, input)
    _set_number(invocation, number)
    _set_attempt(invocation, 1)
    _set_started(invocation, started)
    _set_policy(invocation, policy)
    _set_is_held(invocation, False)
    _set_timeout(invocation, timeout_s)
    return invocation


class Work:
    """The macrostep in the making.

    Attributes:
        undo: Old values of changed context fields, in order.
        updates, effects: For the step, in order.
        staged: Changes of the agenda, in order: a timer to set, the id of one to cancel, or what is called with it.
        raised: Internal events of the microstep; they enter the queue as it ends.
        sent: Events that the microstep sent, for traces and listeners.
        starting: States entered that invoke, with the event of their entry.
        outputs: What final states gave when entered.
        failed: Eventless transitions whose guards have failed, where that is an event.
    """

    __slots__ = ("effects", "failed", "outputs", "raised", "sent", "staged", "starting", "undo", "updates")

    def __init__(self) -> None:
        self.undo: list[tuple[str, Any]] = []
        self.updates: list[Update] = []
        self.effects: list[Effect] = []
        self.staged: list[Timer | str | Callable[[Agenda], None]] = []
        self.raised: list[InternalEvent] = []
        self.sent: list[Any] = []
        self.starting: dict[int, Event] = {}
        self.outputs: dict[int, Any] = {}
        self.failed = NONE_FAILED

    def apply_to(self, agenda: Agenda) -> None:
        """Make the staged changes."""
        for change in self.staged:
            kind = type(change)
            if kind is Timer:
                agenda.set(change)  # type: ignore[arg-type]
            elif kind is str:
                agenda.cancel(change)  # type: ignore[arg-type]
            else:
                change(agenda)  # type: ignore[operator]

    def stage_event(self, time: float, seq: int, event: Event) -> None:
        self.staged.append(lambda agenda: agenda.push(time, seq, event))
