"""The state of one running machine, and the few steps that everything else is built from.

What changes it is in `operations` (microsteps) and `macrostep`; what people call is in `interpreter`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from sismic.clock import Clock, SimulatedClock
from sismic.interpreter import Interpreter as SismicInterpreter

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.bounds.limits import MAX_MACROSTEPS, MAX_MICROSTEPS
from rawko.interpreter.compiled.program import (
    Node,
    Program,
    program_of,
)
from rawko.interpreter.data.context_model import FREE, ContextModel, FreeContext, context_model
from rawko.interpreter.data.events import INIT, Event, InvocationEvent, make_event
from rawko.interpreter.data.steps import Step
from rawko.interpreter.data.values import LiveRecord, Record, freeze_fields
from rawko.interpreter.errors import BindingError, InterpreterError, UntrustedCodeError, shown
from rawko.interpreter.running.event_queue import Agenda
from rawko.interpreter.running.instrumentation import Observation
from rawko.interpreter.running.transaction import Invocation, Work

NO_BINDINGS = Bindings()
NO_INVOCATIONS: dict[str, Invocation] = {}
NO_OLDS: Mapping[Any, Any] = {}
NO_INPUT = Record({})
NO_HISTORY: dict[int, tuple[int, ...]] = {}
NO_SUBSCRIBERS: Mapping[object, Callable[[Step], Any]] = {}


class Core(SismicInterpreter):
    """A machine at rest: where it stands, what it knows, what it waits for."""

    def __init__(
        self,
        chart: Chart,
        bindings: Bindings | None = None,
        *,
        input: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        ignore_contract: bool = False,
        observation: Observation | None = None,
        max_microsteps: int = MAX_MICROSTEPS,
        max_macrosteps: int = MAX_MACROSTEPS,
    ) -> None:
        if not isinstance(chart, Chart):
            raise TypeError(
                f"Interpreter takes a Chart, found {type(chart).__name__}; "
                "for a sismic Statechart use Interpreter.from_sismic(statechart, trusted=True)"
            )
        if chart.has_code and (observation is None or not observation.has_evaluator):
            raise UntrustedCodeError(
                f"chart {chart.name!r} holds Python code; allow it with trusted=True "
                "(Interpreter.from_sismic, rawko.load_chart(..., trusted=True) and Interpreter.trusting)"
            )
        self._chart = chart
        self._bindings = bindings = NO_BINDINGS if bindings is None else bindings
        self._program: Program = program_of(chart, bindings)
        self.clock = SimulatedClock() if clock is None else clock
        self._time: float = self._now()
        self._model: ContextModel | FreeContext = model_of(chart, bindings)
        self._input: Record = Record(freeze_fields(input, "input")) if input else NO_INPUT
        self._fields: dict[str, Any] = self._model.initial(self._input)
        self._context: Record = LiveRecord(self._fields)
        self._node: Node | None = None
        self._history = NO_HISTORY
        self._invocations = NO_INVOCATIONS
        self._olds = NO_OLDS
        self._agenda = Agenda()
        self._internal: deque[Event] | None = None
        self._event: Event = INIT_EVENT
        self._work: Work | None = None
        self._seq = 0
        self._number = 0
        self._output: Any = None
        self._is_done = False
        self._is_busy = False
        self._idle_choice: tuple[int, ...] | None = None
        self._subscribers = NO_SUBSCRIBERS
        self._max_microsteps = _bound("max_microsteps", max_microsteps)
        self._max_macrosteps = _bound("max_macrosteps", max_macrosteps)
        watched = self._program.watch_after
        self._first_look = max_microsteps if watched < 0 else min(watched, max_microsteps)
        self._ignore_contract = ignore_contract
        self._observation = observation
        program = self._program
        if program.has_contracts and not program.checks_inline and not ignore_contract and observation is None:
            self._observation = Observation(self)
        elif observation is not None:
            observation.attach_to(self)

    @property
    def configuration(self) -> list[str]:
        """Names of the active states, by depth, then by name."""
        if self._observation is not None and self._observation.live is not None:
            return self._observation.live_configuration()
        return list(self._node.names) if self._node is not None else []

    @property
    def _configuration(self) -> set[str]:
        """What sismic's own helpers read."""
        return set(self.configuration)

    @_configuration.setter
    def _configuration(self, names: set[str]) -> None:
        if not names:  # how sismic's `run_in_background` stops a machine, from another thread
            self._is_done = True
            return
        structure = self._program.structure
        self._node = self._program.node(frozenset(structure.index[name] for name in names))
        self._is_done = False

    def _raise_internal(self, event: Event) -> None:
        """Queue an event before all external ones. Between steps, it gets a macrostep of its own."""
        if self._internal is None:
            self._internal = deque()
        self._internal.append(event)

    def _push(self, event: Event) -> None:
        self._seq += 1
        self._agenda.push(self._now(), self._seq, event)

    @property
    def _is_in_step(self) -> bool:
        """Whether a step has begun and not ended: guards, actions, listeners and subscribers are called then."""
        return self._is_busy or (self._observation is not None and self._observation.is_open)

    def _require_idle(self) -> None:
        if self._is_in_step:
            raise InterpreterError("a step is being processed: queue events from here, do not execute them")

    def _now(self) -> float:
        clock = self.clock
        if clock.__class__ is SimulatedClock and not clock._play:
            return clock._time
        return clock.time

    def _names(self) -> tuple[str, ...]:
        return self._node.names if self._node is not None else ()

    def _begin_work(self) -> Work:
        work = self._work
        if work is None:
            work = self._work = Work()
        return work


def _bound(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is a whole number >= 1, found {shown(value)}")
    return value


def model_of(chart: Chart, bindings: Bindings) -> ContextModel | FreeContext:
    if chart.context is None:
        return FREE
    try:
        return context_model(bindings.get("context", chart.context))
    except BindingError as error:
        raise BindingError(f"{chart.position}: {error}", name=chart.context, kind="context") from None


def init_event(input: Mapping[str, Any]) -> Event:
    return make_event(INIT, {"input": input})


INIT_EVENT = make_event(INIT, {})


def invocation_event(name: str, data: dict[str, Any], id: str, number: int, *, is_end: bool) -> InvocationEvent:
    """An event from an actor that keeps this very dictionary: nobody else may."""
    event = _new(InvocationEvent)
    event.name = name
    event.data = data
    event.at_ms = 0
    event.id = id
    event.number = number
    event.is_end = is_end
    return event


_new = InvocationEvent.__new__
