"""Python code in charts, run through a sismic evaluator, only if the caller trusts the chart.

The context belongs to the evaluator; it is copied at the start of each macrostep, so that a failure can undo changes
that code made.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from sismic.code import Evaluator, PythonEvaluator
from sismic.model import MetaEvent

from rawko.chart.definition import Action, Chart, CodeAction, CodeGuard
from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.structure import structure_of
from rawko.interpreter.compiled.tables import Block, Where
from rawko.interpreter.data.events import Event, InternalEvent, make_event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.values import Record
from rawko.interpreter.running.instrumentation import Observation
from rawko.interpreter.stepping.event_queue import Timer
from rawko.interpreter.stepping.machine import Machine


class _Everything:
    """A container that contains every element."""

    def __contains__(self, element: object) -> bool:
        return True


_EVERYTHING: Final = _Everything()


class TrustedEvaluator(PythonEvaluator):
    """sismic's Python evaluator, whose entry and exit code also sees the current event."""

    def execute_on_entry(self, state: Any) -> list[Any]:
        return self._with_event(getattr(state, "on_entry", None))

    def execute_on_exit(self, state: Any) -> list[Any]:
        return self._with_event(getattr(state, "on_exit", None))

    def _with_event(self, code: str | None) -> list[Any]:
        if not code:
            return []
        return self._execute_code(code, additional_context={"event": self._interpreter._event})  # type: ignore[attr-defined]


class TrustedObservation(Observation):
    """Code, listeners and contracts of an interpreter of a trusted chart."""

    has_evaluator = True

    def __init__(
        self,
        chart: Chart,
        evaluator_klass: Callable[..., Evaluator] | None = None,
        initial_context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        lowered = structure_of(chart).lowered
        self.statechart = lowered.statechart
        self._klass = evaluator_klass or TrustedEvaluator
        self._is_foreign = evaluator_klass is not None
        self._initial = initial_context
        self._transitions = [group[0] for group in lowered.transitions]
        self._states = [lowered.statechart.state_for(name) for name in chart.states]
        self._timed = {
            t.index: seconds
            for t in chart.transitions
            if not t.events and isinstance(t.guard, CodeGuard) and (seconds := timed_calls(t.guard.code))
        }

    def attach_to(self, machine: Machine, face: Any) -> None:
        """Attach, and set the interpreter attributes (times, sent events) that sismic's evaluators read."""
        super().attach_to(machine, face)
        self.bound = _EVERYTHING  # only sismic's evaluators know which elements have conditions
        self.face = face
        face._entry_time = {}
        face._idle_time = {}
        face._sent_events = []
        face._statechart = self.statechart
        machine.event = make_event("rawko.init", {})
        self.evaluator = self._klass(face, initial_context=self._initial)
        face._evaluator = self.evaluator
        assert self.statechart is not None
        self.evaluator.execute_statechart(self.statechart)

    def _context(self) -> Any:
        return getattr(self.evaluator, "_context", self.evaluator.context)

    def context(self, fields: Record) -> Mapping[str, Any]:
        return self.evaluator.context

    # ------------------------------------------------------------ code

    def step_started(self, now: float) -> None:
        self.face._sent_events = []
        super().step_started(now)

    def guard(self, transition: int, event: Event | None) -> bool:
        return bool(self.evaluator.evaluate_guard(self._transitions[transition], event or self.machine.event))

    def run_entry(self, block: Block) -> None:
        definition = self.program.structure.states[block.element]
        if self._is_plain(definition.on_entry):
            state = self._states[block.element]
            self._collect(lambda: self.evaluator.execute_on_entry(state), block, "on entry", definition.on_entry)
        self.run(self._rest(block, definition.on_entry))

    def run_exit(self, block: Block) -> None:
        definition = self.program.structure.states[block.element]
        if self._is_plain(definition.on_exit):
            state = self._states[block.element]
            self._collect(lambda: self.evaluator.execute_on_exit(state), block, "on exit", definition.on_exit)
        self.run(self._rest(block, definition.on_exit))

    def run_action(self, block: Block) -> None:
        definition = self.program.structure.transitions[block.element]
        current = self.machine.event
        if self._is_plain(definition.actions):
            transition = self._transitions[block.element]
            self._collect(
                lambda: self.evaluator.execute_action(transition, current), block, "action", definition.actions
            )
        self.run(self._rest(block, definition.actions))

    def _is_plain(self, actions: tuple[Action, ...]) -> bool:
        """Whether the actions are one piece of code, as in sismic; a foreign evaluator is called even without code."""
        if not actions:
            return self._is_foreign
        return len(actions) == 1 and isinstance(actions[0], CodeAction)

    def _rest(self, block: Block, actions: tuple[Action, ...]) -> tuple[Any, ...]:
        return block.operations[1:] if actions and self._is_plain(actions) else block.operations

    def _collect(self, run: Callable[[], Any], block: Block, role: str, actions: tuple[Action, ...]) -> None:
        try:
            sent = run()
        except Exception as error:
            structure = self.program.structure
            if role == "action":
                transition = structure.transitions[block.element]
                where = f"transition {transition.source} -> {', '.join(transition.targets) or '(no target)'}"
            else:
                where = f"state {structure.names[block.element]!r} ({role})"
            position = actions[0].position if actions else None
            raise Failed("action", where, "code", position, error) from error
        self._queue(sent)

    def execute(self, action: CompiledAction, where: Where, event: Event) -> None:
        assert action.code is not None
        self._queue(self.evaluator._execute_code(action.code, additional_context={"event": event}))

    def value(self, code: str, event: Event) -> Any:
        return self.evaluator._evaluate_code(code, additional_context={"event": event})

    def _queue(self, sent: Any) -> None:
        machine = self.machine
        work = machine.work or machine.begin()
        for event in sent or ():
            if isinstance(event, MetaEvent):
                work.sent.append(event)
                continue
            delay = event.data.get("delay", 0)
            if isinstance(delay, (int, float)) and delay > 0:
                machine.seq += 1
                due, id = machine.time + delay, f"send.{machine.seq}"
                work.staged.append(Timer(due, machine.seq, id, event.name, event.data, delay=delay))
            else:
                internal = make_event(event.name, event.data, InternalEvent)
                assert isinstance(internal, InternalEvent)
                work.raised.append(internal)
                event = internal
            work.sent.append(event)

    def microstep_ended(self, sent: list[Any]) -> None:
        self.face._sent_events.extend(sent)
        super().microstep_ended(sent)

    # ------------------------------------------------------------ times and contracts

    def entered(self, state: int) -> None:
        name = self.program.structure.names[state]
        self.face._entry_time[name] = self.face._idle_time[name] = self.machine.time

    def fired(self, transition: int) -> None:
        source = self.program.structure.transitions[transition].source
        self.face._idle_time[source] = self.machine.time

    def remember(self, element: Any) -> None:
        """Nothing: the evaluator records `__old__` itself when it evaluates preconditions."""

    def check(self, element: Any, kind: str, event: Event | None) -> None:
        if self.machine.ignores_contracts:
            return
        target = self._transitions[element] if isinstance(element, int) else self._state(element)
        ask = {
            "before": self.evaluator.evaluate_preconditions,
            "after": self.evaluator.evaluate_postconditions,
            "always": self.evaluator.evaluate_invariants,
        }[kind]
        try:
            failing = next(iter(ask(target, event)), None)
        except Exception as error:
            raise self._contract_failed(element, kind, "code", error) from error
        if failing is not None:
            raise self._contract_failed(element, kind, failing, "the condition does not hold")

    def check_invariants(self, event: Event | None) -> None:
        if not self.machine.ignores_contracts:
            for name in self.machine.names:
                self.check(name, "always", event)

    def _state(self, name: str) -> Any:
        return self._states[self.program.structure.index[name]]

    def _contract_failed(self, element: Any, kind: str, condition: str, cause: Exception | str) -> Failed:
        structure = self.program.structure
        definition = structure.transitions[element] if isinstance(element, int) else None
        where = f"transition {definition.source}" if definition is not None else f"state {element!r}"
        return Failed("contract", f"{where} ({kind})", condition, None, cause, contract=kind, element=element)

    # ------------------------------------------------------------ rollback

    def mark(self) -> Any:
        return (
            _copy(self._context()),
            dict(self.face._entry_time),
            dict(self.face._idle_time),
            dict(getattr(self.evaluator, "_memory", {})),
        )

    def roll_back(self, marks: Any) -> None:
        super().roll_back(marks)
        context, entry, idle, memory = marks
        self._fill(_copy(context), entry, idle)  # a copy: the same marks may be needed again
        if hasattr(self.evaluator, "_memory"):
            self.evaluator._memory = dict(memory)

    def restored(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None:
        self._fill(context, entry, idle)

    def _fill(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None:
        live = self._context()
        live.clear()
        live.update(context)
        self.face._entry_time, self.face._idle_time = dict(entry), dict(idle)

    def times(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        return self.face._entry_time, self.face._idle_time

    def olds(self) -> dict[str, Any]:
        memory = getattr(self.evaluator, "_memory", {})
        found = ((name, memory.get(id(self._state(name)))) for name in self.machine.names)
        return {name: dict(old) for name, old in found if old is not None}

    def restore_olds(self, olds: Mapping[str, Any]) -> None:
        if hasattr(self.evaluator, "_memory"):
            self.evaluator._memory = {id(self._state(name)): Record(dict(old)) for name, old in olds.items()}

    # ------------------------------------------------------------ time guards

    def next_timed_guard(self) -> float | None:
        """The earliest time at which an eventless `after(n)` or `idle(n)` guard of an active state may become true."""
        machine, face = self.machine, self.face
        due: list[float] = []
        for index, calls in self._timed.items():
            source = self.program.structure.transitions[index].source
            if machine.matches(source):
                for function, seconds in calls:
                    times = face._entry_time if function == "after" else face._idle_time
                    moment = times.get(source, 0) + seconds
                    if moment > machine.time:
                        due.append(moment)
        return min(due, default=None)


def timed_calls(code: str) -> tuple[tuple[str, float], ...]:
    """The `after(n)` and `idle(n)` calls with a literal number in a guard: (function, seconds) of each."""
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        return ()
    return tuple(
        (node.func.id, float(node.args[0].value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("after", "idle")
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, (int, float))
    )


def _copy(context: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of the values that allow it; values that cannot be copied (modules, locks, open files) are shared."""
    copied: dict[str, Any] = {}
    for name, value in context.items():
        try:
            copied[name] = copy.deepcopy(value)
        except Exception:  # noqa: BLE001 - foreign classes raise what they like
            copied[name] = value
    return copied
