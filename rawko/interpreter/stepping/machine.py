"""The state of one machine, as data: where it stands, what it knows, what it waits for.

The functions of this room move it; `Interpreter` is its face for those who embed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from sismic.clock import Clock, SimulatedClock

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.compiled.program import Program, program_of
from rawko.interpreter.compiled.tables import Node
from rawko.interpreter.data.context_model import FREE, ContextModel, FreeContext, context_model
from rawko.interpreter.data.events import INIT, Event, make_event
from rawko.interpreter.data.freezing import freeze_fields
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.values import LiveRecord, Record
from rawko.interpreter.errors import BindingError, InterpreterError
from rawko.interpreter.stepping.event_queue import Agenda
from rawko.interpreter.stepping.observer import Observer
from rawko.interpreter.stepping.transaction import Transaction

NO_INVOCATIONS: dict[str, Invocation] = {}
NO_OLDS: Mapping[Any, Any] = {}
NO_INPUT = Record({})
NO_HISTORY: dict[int, tuple[int, ...]] = {}


class Machine:
    """One machine.

    Attributes:
        program: The chart bound to functions, shared by all its machines.
        time: Seconds on the clock at the latest macrostep.
        fields: The context's values by name; `context` is a live, read-only view of the same dictionary.
        node: The configuration with what is known of it; None before the start.
        history: Records by history state. Like `invocations` and `olds` it is replaced, never changed: an undo goes
            back to the old one.
        olds: What `old` stands for in contracts, by state or transition.
        agenda: External events and timers that wait.
        internal: Internal events that wait; None where there never were any.
        event: The latest that was consumed: guards and actions of eventless transitions get it.
        work: The macrostep in the making; None between macrosteps.
        seq: The latest number given to a sent event or a timer. `number`: to an invocation.
        is_busy: Guards, actions or subscribers are being called.
        idle_choice: Eventless transitions that were taken and changed nothing: not taken again until something happens.
        first_look: Microsteps of one macrostep after which it is watched for repetition.
        observer: Listeners, contracts and code; None where there is nothing of these.
    """

    __slots__ = (
        "agenda",
        "bindings",
        "chart",
        "clock",
        "context",
        "event",
        "fields",
        "first_look",
        "history",
        "idle_choice",
        "ignores_contracts",
        "input",
        "internal",
        "invocations",
        "is_busy",
        "is_done",
        "max_microsteps",
        "model",
        "node",
        "number",
        "observer",
        "olds",
        "output",
        "program",
        "seq",
        "time",
        "work",
    )

    def __init__(
        self,
        chart: Chart,
        bindings: Bindings,
        input: Mapping[str, Any] | None,
        clock: Clock,
        max_microsteps: int,
        *,
        ignores_contracts: bool,
    ) -> None:
        self.chart = chart
        self.bindings = bindings
        self.program: Program = program_of(chart, bindings)
        self.clock = clock
        self.time: float = self.now
        self.model: ContextModel | FreeContext = model_of(chart, bindings)
        self.input: Record = Record(freeze_fields(input, "input")) if input else NO_INPUT
        self.fields: dict[str, Any] = self.model.initial(self.input)
        self.context: Record = LiveRecord(self.fields)
        self.node: Node | None = None
        self.history = NO_HISTORY
        self.invocations = NO_INVOCATIONS
        self.olds = NO_OLDS
        self.agenda = Agenda()
        self.internal: deque[Event] | None = None
        self.event: Event = INIT_EVENT
        self.work: Transaction | None = None
        self.seq = 0
        self.number = 0
        self.output: Any = None
        self.is_done = False
        self.is_busy = False
        self.idle_choice: tuple[int, ...] | None = None
        self.max_microsteps = max_microsteps
        watched = self.program.bound.watch_after
        self.first_look = max_microsteps if watched < 0 else min(watched, max_microsteps)
        self.ignores_contracts = ignores_contracts
        self.observer: Observer | None = None

    @property
    def now(self) -> float:
        """Seconds on the clock."""
        clock = self.clock
        if clock.__class__ is SimulatedClock and not clock._play:
            return clock._time
        return clock.time

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the active states, by depth, then by name, as of the latest microstep."""
        return self.node.names if self.node is not None else ()

    @property
    def configuration(self) -> list[str]:
        """The same, live: in mid-step, states are left and entered one by one where somebody listens."""
        live = None if self.observer is None else self.observer.live_configuration()
        return list(self.names) if live is None else live

    @property
    def visible_context(self) -> Mapping[str, Any]:
        """The context; of a trusted chart, the evaluator's own mapping."""
        return self.context if self.observer is None else self.observer.context(self.context)

    @property
    def is_in_step(self) -> bool:
        """Whether a step has begun and not ended: guards, actions, listeners and subscribers are called then."""
        return self.is_busy or (self.observer is not None and self.observer.is_open)

    @property
    def holds_any_value(self) -> bool:
        """Whether trusted code decides, which takes payloads that are no JSON."""
        return self.observer is not None and self.observer.has_evaluator

    def matches(self, state: str) -> bool:
        """Whether a state is active."""
        return self.node is not None and state in self.node.names_set

    def require_idle(self) -> None:
        """Refuse what may not be called from within a step.

        Raises:
            InterpreterError: A step is being processed.
        """
        if self.is_in_step:
            raise InterpreterError("a step is being processed: queue events from here, do not execute them")

    def push(self, event: Event) -> None:
        """Queue an external event."""
        self.seq += 1
        self.agenda.push(self.now, self.seq, event)

    def push_internal(self, event: Event) -> None:
        """Queue an event before all external ones. Between steps, it gets a macrostep of its own."""
        if self.internal is None:
            self.internal = deque()
        self.internal.append(event)

    def begin(self) -> Transaction:
        """A transaction that remembers where the machine stands now."""
        work = self.work = Transaction()
        work.node = self.node
        work.history = self.history
        work.invocations = self.invocations
        work.number = self.number
        work.seq = self.seq
        work.olds = self.olds
        work.event = self.event
        work.marks = None if self.observer is None else self.observer.mark()
        return work


def model_of(chart: Chart, bindings: Bindings) -> ContextModel | FreeContext:
    """What checks the context of a chart's machines.

    Raises:
        BindingError: The model that the chart names is not bound.
    """
    if chart.context is None:
        return FREE
    try:
        return context_model(bindings.get("context", chart.context))
    except BindingError as error:
        raise BindingError(f"{chart.position}: {error}", name=chart.context, kind="context") from None


def init_event(input: Mapping[str, Any]) -> Event:
    """The event that code sees while the machine enters its first configuration."""
    return make_event(INIT, {"input": input})


INIT_EVENT = make_event(INIT, {})
