"""The observed way through a microstep: state by state, with listeners, contracts and trusted code.

Only interpreters that have any of these take it; for the others they cost nothing. The order of meta-events is
sismic's: exits, transitions, entries, sent events, each at its place, live.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sismic.exceptions import PropertyStatechartError
from sismic.model import Event as SismicEvent
from sismic.model import MetaEvent, Statechart

from rawko.chart.definition import Transition
from rawko.interpreter.compiled.contracts import contract_failure, require
from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.tables import Block, Operation, Plan, Rows, Where
from rawko.interpreter.data.events import Event, InternalEvent
from rawko.interpreter.data.failures import Failed, ListenerFailed
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record
from rawko.interpreter.foreign.meta_events import (
    STEP_ENDED,
    STEP_ROLLED_BACK,
    EventConsumed,
    StepStarted,
    TransitionProcessed,
    meta_event,
)
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.operations import run_operations


class Observation:
    """Listeners and contracts of one interpreter.

    Attributes:
        is_open: A step has begun and not ended.
        is_listening_only: No trusted code, and no invariants, which would have to be asked after every microstep.
        on_choice: Called with what `chosen` is told, where somebody notes how a machine chooses.
    """

    has_evaluator = False
    has_data_model = False
    is_reachable: Callable[[str], bool] | None = None
    statechart: Statechart | None = None

    on_choice: Callable[[Rows, Event | None, tuple[int, ...]], None] | None = None

    def __init__(self) -> None:
        self.listeners: list[Callable[[MetaEvent], Any]] = []
        self.is_open = False
        self._live: set[int] | None = None
        self._told: Plan | None = None
        self._told_count = 0
        self._current: tuple[Callable[[MetaEvent], Any], ...] = ()
        self._properties: tuple[PropertyListener, ...] = ()

    def attach_to(self, machine: Machine, face: Any) -> None:
        """Observe a machine. `face`: the interpreter that people hold, for sismic's evaluators."""
        self.machine = machine
        self.program = machine.program
        self.conditions: Mapping[Any, Any] = {} if machine.ignores_contracts else self.program.bound.conditions
        self._bound = {element for element, _ in self.conditions}
        # Asked for each active state after each microstep: most charts with contracts have no invariants.
        self._has_invariants = any(kind == "always" for _, kind in self.conditions)
        self.is_listening_only = not (self.has_evaluator or self._has_invariants)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody is told of this step, and nothing has to be asked after each microstep."""
        return self.is_listening_only and not self._current

    @property
    def has_listeners(self) -> bool:
        return bool(self.listeners)

    @property
    def is_needed(self) -> bool:
        """Whether there is more to it than listeners."""
        has_conditions = bool(self.conditions) and not self.program.bound.checks_inline
        return has_conditions or self.has_evaluator or self.on_choice is not None

    # ------------------------------------------------------------ what is seen in mid-step

    @property
    def live(self) -> set[int] | None:
        """The active states in mid-step; None between steps."""
        plan, node = self._told, self.machine.node
        if plan is None or node is None:
            return self._live
        exits, transitions, entries = plan.outline.exits, plan.outline.transitions, plan.outline.entries
        entered = max(0, self._told_count - len(exits) - len(transitions))
        left = set(node.configuration).difference(exits[: self._told_count])
        return left.union(entry.state for entry in entries[:entered])

    def live_configuration(self) -> list[str] | None:
        live, structure = self.live, self.program.structure
        if live is None:
            return None
        names = [structure.names[s] for s in live]
        return sorted(names, key=lambda n: (len(structure.ancestors[structure.index[n]]), n))

    def _is_active(self, name: str) -> bool:
        index = self.program.structure.index.get(name, -1)
        live = self.live
        if live is not None:
            return index in live
        return self.machine.matches(name)

    def context(self, fields: Record) -> Mapping[str, Any]:
        return fields

    # ------------------------------------------------------------ meta-events

    def detach(self, listener: Callable[[MetaEvent], Any]) -> None:
        """Forget a listener, at once; one that is attached in mid-step hears from the next step on."""
        self.listeners.remove(listener)
        self._current = tuple(found for found in self._current if found != listener)
        self._properties = tuple(found for found in self._properties if found != listener)

    def notify(self, name: str, **data: Any) -> None:
        if self._current:
            self._tell(meta_event(name, data))

    def _tell(self, event: MetaEvent) -> None:
        for listener in self._current:
            try:
                listener(event)
            except Exception as error:
                raise ListenerFailed(error) from error

    def step_started(self, now: float) -> None:
        self.is_open = True
        if not (self.listeners or self._current):
            return
        listeners = tuple(self.listeners)
        if self._current != listeners:
            self._current = listeners
            self._properties = tuple(one for one in listeners if isinstance(one, PropertyListener))
        for property_ in self._properties:
            property_.mark()
        event = StepStarted(now)
        for listener in listeners:  # nothing is left to be undone: errors go to the caller as they are
            listener(event)

    def step_ended(self) -> None:
        """Tell the end of a step, once. In a macrostep, this is the last thing that may undo it."""
        if self.is_open:
            self._live = self._told = None
            try:
                for listener in self._current:
                    listener(STEP_ENDED)
            except Exception as error:
                if self.machine.is_busy:
                    raise ListenerFailed(error) from error
                raise
            self.is_open = False

    def step_failed(self) -> None:
        """The step has raised: its own error is on its way, and must not hide behind a listener's."""
        self._live = self._told = None
        self._quietly(STEP_ENDED)
        self.is_open = False

    def rolled_back(self) -> None:
        """What listeners were told has not happened."""
        self._quietly(STEP_ROLLED_BACK)
        for property_ in self._properties:
            property_.reset()

    def resumed(self, now: float, event: Event | None) -> None:
        """The step goes on after a failure: tell property statecharts its beginning again, which they forgot."""
        for property_ in self._properties:
            property_(MetaEvent("step started", time=now))
            if event is not None:
                property_(MetaEvent("event consumed", event=event))

    def _quietly(self, event: MetaEvent) -> None:
        for listener in self._current:
            if not isinstance(listener, PropertyListener):
                try:
                    listener(event)
                except Exception:  # noqa: BLE001 - the step's own error is on its way to the caller
                    continue

    def event_consumed(self, event: Event) -> None:
        if self._current:
            self._tell(EventConsumed(event))

    # ------------------------------------------------------------ a microstep

    def microstep(self, plan: Plan, event: Event | None) -> None:
        """Exits, transitions and entries, each followed by its meta-event."""
        structure = self.program.structure
        machine = self.machine
        node = machine.node
        if not (self._current or self.has_evaluator) and node is not None:
            self._live = None
            if self.binds(plan):
                self._bound_microstep(plan)
            else:
                self._run(plan.operations)
            return
        self._live = live = set(node.configuration) if node is not None else set()
        exits, transitions, entries = self.program.bound.blocks(plan)
        for block in exits:
            self._exit(block, live)
        for block in transitions:
            self._transition(block, event)
        for block in entries:
            name = structure.names[block.element]
            self._remember(name)
            self._check(name, "before", machine.event)
            live.add(block.element)
            self.entered(block.element)
            self.run_entry(block)
            self._tell(self.program.bound.entry_events[block.element])

    def _bound_microstep(self, plan: Plan) -> None:
        """The same where nobody listens: only what has a contract is looked at."""
        names, bound, event, run = self.program.structure.names, self._bound, self.machine.event, self._run
        self._told, self._told_count = plan, 0  # what is active meanwhile is worked out for those who ask
        exits, transitions, entries = self.program.bound.blocks(plan)
        for block in exits:
            if block.operations:
                run(block.operations)
            self._told_count += 1
            name = names[block.element]
            if name in bound:
                self._check(name, "after", event)
                self._forget(name)
        for block in transitions:
            if block.element in bound:
                self._transition(block, event)
            elif block.operations:
                run(block.operations)
            self._told_count += 1
        for block in entries:
            name = names[block.element]
            if name in bound:
                self._remember(name)
                self._check(name, "before", event)
            self._told_count += 1
            if block.operations:
                run(block.operations)
        self._told = None

    def binds(self, plan: Plan) -> bool:
        """Whether a contract binds something that the plan leaves, takes or enters."""
        return plan.is_bound and bool(self.conditions)

    def tell(self, plan: Plan, event: Event | None) -> None:
        """The meta-events of a macrostep that runs no code and is bound by no contract."""
        if not self._current:
            return
        news = plan.news or self.program.bound.news(plan)
        told: MetaEvent = EventConsumed(event)
        try:
            for listener in self._current:  # looked up each time: a listener may leave
                listener(told)
            self._told, count = plan, 0  # what is active meanwhile is worked out for those who ask
            for what in news:
                self._told_count = count = count + 1
                told = TransitionProcessed(what, event) if isinstance(what, Transition) else what
                for listener in self._current:
                    listener(told)
        except Exception as error:
            raise ListenerFailed(error) from error
        self._told = None

    def _exit(self, block: Block, live: set[int]) -> None:
        name = self.program.structure.names[block.element]
        self.run_exit(block)
        live.discard(block.element)
        self._check(name, "after", self.machine.event)
        self._forget(name)
        self._tell(self.program.bound.exit_events[block.element])

    def _transition(self, block: Block, event: Event | None) -> None:
        current = self.machine.event
        self._remember(block.element)
        self._check(block.element, "before", current)
        self._check(block.element, "always", current)
        self.run_action(block)
        self._check(block.element, "after", current)
        self._check(block.element, "always", current)
        self._forget(block.element)
        self.fired(block.element)
        if self._current:
            self._tell(TransitionProcessed(self.program.structure.transitions[block.element], event))

    def microstep_ended(self, sent: list[Any]) -> None:
        """Sent events in order, then the invariants of all active states."""
        self._live = None  # the machine's own configuration is the new one from here on
        for event in sent:
            if isinstance(event, MetaEvent):
                if self._current:
                    self._tell(event)
            elif self._current:
                self.notify("event sent", event=event if isinstance(event, InternalEvent) else _as_internal(event))
        if not self.machine.is_done:
            self.check_invariants(self.machine.event)

    def closing(self, state: int, operations: tuple[Operation, ...]) -> None:
        """Exit code of a state that stays in the configuration of a finished machine."""
        self.run_exit(Block(state, operations))

    def chosen(self, rows: Rows, event: Event | None, transitions: tuple[int, ...]) -> None:
        if self.on_choice is not None:
            self.on_choice(rows, event, transitions)

    def _run(self, operations: tuple[Operation, ...]) -> None:
        work = self.machine.work
        assert work is not None
        run_operations(self.machine, work, operations)

    # ------------------------------------------------------------ code (trusted charts override these)

    def run_exit(self, block: Block) -> None:
        self._run(block.operations)

    def run_entry(self, block: Block) -> None:
        self._run(block.operations)

    def run_action(self, block: Block) -> None:
        self._run(block.operations)

    def entered(self, state: int) -> None: ...

    def fired(self, transition: int) -> None: ...

    def guard(self, transition: int, event: Event | None) -> bool:
        raise AssertionError("no trusted code here")

    def execute(self, action: CompiledAction, where: Where, event: Event) -> None:
        raise AssertionError("no trusted code here")

    def value(self, code: str, event: Event) -> Any:
        raise AssertionError("no trusted code here")

    # ------------------------------------------------------------ contracts

    @property
    def looks_when_idle(self) -> bool:
        """Whether something is to be looked at though nothing has happened."""
        return self.has_evaluator or self._has_invariants

    def check_invariants(self, event: Event | None) -> None:
        """The `always` conditions of all active states, outer ones first. No event: nothing happened, time passed."""
        if self._has_invariants:
            for name in self.machine.names:
                self._check(name, "always", event)

    def _remember(self, element: Any) -> None:
        if element in self.program.bound.reads_old and self.conditions:
            machine = self.machine
            machine.olds = {**machine.olds, element: Record(dict(machine.fields))}

    def _forget(self, element: Any) -> None:
        olds = self.machine.olds
        if element in olds:
            self.machine.olds = {key: value for key, value in olds.items() if key != element}

    def _check(self, element: Any, kind: str, event: Event | None) -> None:
        if (element, kind) not in self.conditions:
            return
        machine = self.machine
        context, event, old = machine.context, event or machine.event, machine.olds.get(element)
        structure = self.program.structure
        require(structure, self.conditions, element, kind, context, event, old, self._is_active)

    def _failed(self, element: Any, kind: str, guard: Any, cause: Exception | str) -> Failed:
        return contract_failure(self.program.structure, element, kind, guard, cause)

    # ------------------------------------------------------------ rollback

    def mark(self) -> Any:
        return None

    def roll_back(self, marks: Any) -> None:
        self._live = self._told = None

    def restored(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None:
        """A snapshot was restored: its values, which are the evaluator's from now on."""

    def olds(self) -> Mapping[str, Any]:
        """The contexts that `old` stands for in contracts of active states, by state."""
        return self.machine.olds

    def restore_olds(self, olds: Mapping[str, Any]) -> None:
        """The same, from a snapshot."""
        self.machine.olds = {name: freeze(old, was_kept=True) for name, old in olds.items()}

    def times(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """When states were entered, and when something happened in them last, for trusted code; in seconds."""
        return {}, {}

    def next_timed_guard(self) -> float | None:
        return None


class BoundListener:
    """Passes sent events on, as plain sismic events; payloads may have fields of any name."""

    def __init__(self, receive: Callable[[SismicEvent], Any]) -> None:
        self._receive = receive

    def __call__(self, event: MetaEvent) -> None:
        if event.name == "event sent":
            passed = SismicEvent(event.event.name)
            passed.data = dict(event.event.data)
            self._receive(passed)


def _as_internal(event: SismicEvent) -> InternalEvent:
    """Sent events are announced as sismic announces them, so that `bind` passes them on."""
    internal = InternalEvent.__new__(InternalEvent)
    internal.name, internal.data, internal.at_ms = event.name, event.data, 0
    return internal


class PropertyListener:
    """Feeds meta-events to a property statechart, which objects by reaching its final state."""

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        self._mark: Any = None

    def __call__(self, event: MetaEvent) -> None:
        self.interpreter.queue(event)
        self.interpreter.execute()
        if self.interpreter.final:
            raise PropertyStatechartError(self.interpreter)

    def mark(self) -> None:
        """Remember the property's state, so that a rolled back step leaves no trace in it."""
        checkpoint = getattr(self.interpreter, "checkpoint", None)
        self._mark = checkpoint() if checkpoint is not None else None

    def reset(self) -> None:
        if self._mark is not None:
            self.interpreter.roll_back_to(self._mark)
