"""Runs a microstep with an observer: state by state, with listeners, contracts and trusted code.

Only interpreters with one of these have an observer; the others pay nothing. The order of meta-events is sismic's:
exits, transitions, entries, sent events, each sent when it happens. `listeners` calls the listeners, `contract_checks`
checks conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sismic.model import MetaEvent, Statechart

from rawko.chart.definition import Transition
from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.tables import Block, Operation, Plan, Rows, Where
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.failures import ListenerFailed
from rawko.interpreter.data.values import Record
from rawko.interpreter.foreign.meta_events import STEP_ENDED, EventConsumed, TransitionProcessed
from rawko.interpreter.running.contract_checks import ContractChecks
from rawko.interpreter.running.listeners import Listeners
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.operations import run_operations


class ChoiceWatch(Protocol):
    """Is notified of the selections of one machine."""

    def chosen(self, rows: Rows, event: Event | None, transitions: tuple[int, ...]) -> None:
        """Called with the selected transitions, before conflicts are resolved; also with those without guards."""

    def undone(self) -> None:
        """The macrostep was rolled back; it may continue with `error.execution`."""


class Observation(ContractChecks):
    """Listeners and contracts of one interpreter; see `rawko.interpreter.stepping.observer`.

    Attributes:
        is_open: A step has begun and not ended.
        is_listening_only: There is no trusted code, and no invariant that must be checked after every microstep.
        choice_watch: Is notified of every selection; set by `choices`.
    """

    has_evaluator = False
    has_data_model = False
    is_reachable: Callable[[str], bool] | None = None
    statechart: Statechart | None = None

    choice_watch: ChoiceWatch | None = None

    def __init__(self) -> None:
        self.listeners = Listeners()
        self.is_open = False
        self._live: set[int] | None = None
        self._told: Plan | None = None
        self._told_count = 0

    def attach_to(self, machine: Machine, face: Any) -> None:
        super().attach_to(machine, face)
        self.is_listening_only = not (self.has_evaluator or self.has_invariants)

    @property
    def is_quiet(self) -> bool:
        """Whether no listener receives this step, and no contract must be checked after each microstep."""
        return self.is_listening_only and not self.listeners.current

    @property
    def has_listeners(self) -> bool:
        return bool(self.listeners.attached)

    @property
    def is_needed(self) -> bool:
        """Whether the observer is needed even without listeners."""
        has_conditions = bool(self.conditions) and not self.program.bound.checks_inline
        return has_conditions or self.has_evaluator or self.choice_watch is not None

    # ------------------------------------------------------------ what is seen in mid-step

    @property
    def live(self) -> set[int] | None:
        """The active states during a microstep; None between steps."""
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

    def is_active(self, name: str) -> bool:
        live = self.live
        if live is not None:
            return self.program.structure.index.get(name, -1) in live
        return super().is_active(name)

    def context(self, fields: Record) -> Mapping[str, Any]:
        return fields

    # ------------------------------------------------------------ a step

    def step_started(self, now: float) -> None:
        self.is_open = True
        listeners = self.listeners
        if listeners.attached or listeners.current:
            listeners.begin(now)

    def step_ended(self) -> None:
        """Notify listeners of the end of a step, once. In a macrostep, this is the last call that may still undo it."""
        if self.is_open:
            self._live = self._told = None
            try:
                for listener in self.listeners.current:
                    listener(STEP_ENDED)
            except Exception as error:
                if self.machine.is_busy:
                    raise ListenerFailed(error) from error
                raise
            self.is_open = False

    def step_failed(self) -> None:
        """Notify listeners of the end of a step that raised; an error of a listener must not hide the step's own."""
        self._live = self._told = None
        self.listeners.tell_quietly(STEP_ENDED)
        self.is_open = False

    def rolled_back(self) -> None:
        if self.choice_watch is not None:
            self.choice_watch.undone()
        self.listeners.roll_back()

    def resumed(self, now: float, event: Event | None) -> None:
        self.listeners.resume(now, event)

    def event_consumed(self, event: Event) -> None:
        if self.listeners.current:
            self.listeners.tell(EventConsumed(event))

    def chosen(self, rows: Rows, event: Event | None, transitions: tuple[int, ...]) -> None:
        if self.choice_watch is not None:
            self.choice_watch.chosen(rows, event, transitions)

    def tell(self, plan: Plan, event: Event | None) -> None:
        """Send the meta-events of a macrostep that runs no code and that no contract binds."""
        if self.choice_watch is not None:
            self._tell_choice(self.choice_watch, event)
        listeners = self.listeners
        if not listeners.current:
            return
        news = plan.news or self.program.bound.news(plan)
        told: MetaEvent = EventConsumed(event)
        try:
            for listener in listeners.current:  # read anew each time: a listener may detach another
                listener(told)
            self._told, count = plan, 0  # `live` computes the active states on request
            for what in news:
                self._told_count = count = count + 1
                told = TransitionProcessed(what, event) if isinstance(what, Transition) else what
                for listener in listeners.current:
                    listener(told)
        except Exception as error:
            raise ListenerFailed(error) from error
        self._told = None

    def _tell_choice(self, watch: ChoiceWatch, event: Event | None) -> None:
        """Notify the choice watch of a selection that was made without calling `choose`, since no guard decides it."""
        machine, program = self.machine, self.program
        assert machine.node is not None and event is not None
        rows = program.rows(machine.node, program.structure.event_key(event.name))
        assert rows.fixed is not None
        watch.chosen(rows, event, rows.fixed)

    # ------------------------------------------------------------ a microstep

    def microstep(self, plan: Plan, event: Event | None) -> None:
        """Exits, transitions and entries, each followed by its meta-event."""
        structure = self.program.structure
        machine = self.machine
        node = machine.node
        if not (self.listeners.current or self.has_evaluator) and node is not None:
            self._live = None
            if self.binds(plan):
                self._bound_microstep(plan)
            else:
                self.run(plan.operations)
            return
        self._live = live = set(node.configuration) if node is not None else set()
        exits, transitions, entries = self.program.bound.blocks(plan)
        for block in exits:
            self._exit(block, live)
        for block in transitions:
            self._transition(block, event)
        for block in entries:
            name = structure.names[block.element]
            if name in self.bound:
                self.remember(name)
                self.check(name, "before", machine.event)
            live.add(block.element)
            self.entered(block.element)
            self.run_entry(block)
            self.listeners.tell(self.program.bound.entry_events[block.element])

    def _bound_microstep(self, plan: Plan) -> None:
        """The same without listeners: only checks elements that have a contract."""
        names, bound, event, run = self.program.structure.names, self.bound, self.machine.event, self.run
        self._told, self._told_count = plan, 0  # `live` computes the active states on request
        exits, transitions, entries = self.program.bound.blocks(plan)
        for block in exits:
            if block.operations:
                run(block.operations)
            self._told_count += 1
            name = names[block.element]
            if name in bound:
                self.check(name, "after", event)
                self.forget(name)
        for block in transitions:
            if block.element in bound:
                self._transition(block, event)
            elif block.operations:
                run(block.operations)
            self._told_count += 1
        for block in entries:
            name = names[block.element]
            if name in bound:
                self.remember(name)
                self.check(name, "before", event)
            self._told_count += 1
            if block.operations:
                run(block.operations)
        self._told = None

    def _exit(self, block: Block, live: set[int]) -> None:
        name = self.program.structure.names[block.element]
        self.run_exit(block)
        live.discard(block.element)
        if name in self.bound:
            self.check(name, "after", self.machine.event)
            self.forget(name)
        self.listeners.tell(self.program.bound.exit_events[block.element])

    def _transition(self, block: Block, event: Event | None) -> None:
        current = self.machine.event
        if block.element in self.bound:
            self.remember(block.element)
            self.check(block.element, "before", current)
            self.check(block.element, "always", current)
            self.run_action(block)
            self.check(block.element, "after", current)
            self.check(block.element, "always", current)
            self.forget(block.element)
        else:
            self.run_action(block)
        self.fired(block.element)
        if self.listeners.current:
            self.listeners.tell(TransitionProcessed(self.program.structure.transitions[block.element], event))

    def microstep_ended(self, sent: list[Any]) -> None:
        """Send meta-events of the sent events in order, then check the invariants of all active states."""
        self._live = None  # the machine's own configuration is up to date from here on
        if sent and self.listeners.current:
            self.listeners.tell_sent(sent)
        if not self.machine.is_done:
            self.check_invariants(self.machine.event)

    def closing(self, state: int, operations: tuple[Operation, ...]) -> None:
        """Run the exit code of a state that stays in the configuration of a machine that has ended."""
        self.run_exit(Block(state, operations))

    def run(self, operations: tuple[Operation, ...]) -> None:
        """Run operations in the transaction of the current macrostep."""
        work = self.machine.work
        assert work is not None
        run_operations(self.machine, work, operations)

    # ------------------------------------------------------------ code (trusted charts override these)

    def run_exit(self, block: Block) -> None:
        self.run(block.operations)

    def run_entry(self, block: Block) -> None:
        self.run(block.operations)

    def run_action(self, block: Block) -> None:
        self.run(block.operations)

    def entered(self, state: int) -> None: ...

    def fired(self, transition: int) -> None: ...

    def guard(self, transition: int, event: Event | None) -> bool:
        raise AssertionError("no trusted code here")

    def execute(self, action: CompiledAction, where: Where, event: Event) -> None:
        raise AssertionError("no trusted code here")

    def value(self, code: str, event: Event) -> Any:
        raise AssertionError("no trusted code here")

    @property
    def looks_when_idle(self) -> bool:
        """Whether code must run although no event is due. Code may read the time; invariants made of bound guards may
        not, and were checked at the end of the last step.
        """
        return self.has_evaluator

    def next_timed_guard(self) -> float | None:
        return None

    # ------------------------------------------------------------ undoing, snapshots

    def mark(self) -> Any:
        return None

    def roll_back(self, marks: Any) -> None:
        self._live = self._told = None

    def restored(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None:
        """A snapshot was restored: hand its values to the evaluator, which owns them from now on."""

    def times(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """By state: times of entry, and times of the last activity, in seconds; empty without trusted code."""
        return {}, {}
