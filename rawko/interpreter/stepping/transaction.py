"""The changes of one running macrostep, and the data to undo it: a macrostep commits entirely or not at all.

Sends, timers and cancels are staged here and enter the event queue at the commit; a rollback just drops them. Context,
history, invocations and counters, which code must see at once, change in the machine, and their old values are recorded
here. Example, with `n: 1` and two actions of which the second fails:

    assign(n=2)         undo [("n", 1)]      machine.fields {"n": 2}
    send("E", delay 1s) staged [Timer E]     the queue is as before
    raise ValueError    undone backwards:    machine.fields {"n": 1}, staged is dropped, node and counters restored
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rawko.interpreter.data.effects import Effect
from rawko.interpreter.data.events import Event, InternalEvent
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.updates import Update
from rawko.interpreter.stepping.event_queue import Agenda, Timer

if TYPE_CHECKING:
    from rawko.interpreter.compiled.tables import Node

NONE_FAILED: frozenset[int] = frozenset()
MISSING: Any = object()
"""The old value of a context field that did not exist."""


class Transaction:
    """The changes of a macrostep so far, and the machine's state before it.

    Attributes:
        undo: Old values of changed context fields, in order.
        updates, effects: For the step, in order.
        staged: Changes of the event queue, in order: a timer to set, the id of one to cancel, or a function of the
            queue.
        raised: Internal events of the microstep; they enter the internal queue as it ends.
        sent: Events that the microstep sent, for traces and listeners.
        starting: Entered states with invocations, with the event of their entry.
        outputs: Outputs of final states that were entered.
        failed: Eventless transitions whose guards have failed, if failures are events.
        node, history, invocations, number, seq, olds, event: The machine's, before the macrostep.
        marks: Data for the observer to undo the effects of code.
    """

    __slots__ = (
        "effects",
        "event",
        "failed",
        "history",
        "invocations",
        "marks",
        "node",
        "number",
        "olds",
        "outputs",
        "raised",
        "sent",
        "seq",
        "staged",
        "starting",
        "undo",
        "updates",
    )

    node: Node | None
    history: dict[int, tuple[int, ...]]
    invocations: dict[str, Invocation]
    number: int
    seq: int
    olds: Mapping[Any, Any]
    event: Event
    marks: Any

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
        """Apply the staged changes to the event queue."""
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
