"""Places a machine in a state without the events that lead there, by making a snapshot of a legal configuration.

Where the given states have children, the initial ones become active too. Invocations and timers of all active states
start when the snapshot is restored. No action runs, and no contract is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rawko.chart.definition import Chart, Invoke
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.clocks import Clock, SimulatedClock
from rawko.interpreter.compiled.functions import compile_delay, compile_value
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import thaw
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.stepping.machine import init_event, model_of
from rawko.testing.errors import ContractMistake


class Placed:
    """A snapshot in which the given states are active.

    Attributes:
        snapshot: The snapshot, in the form of `Interpreter.snapshot()`.
        without_input: Errors of invocations whose input could not be computed, by id: the bound input function needs an
            event or context field that is set only on the way to the state.
    """

    def __init__(
        self,
        chart: Chart,
        bindings: Bindings,
        *,
        states: Collection[str],
        context: Mapping[str, Any],
        input: Mapping[str, Any],
    ) -> None:
        self._chart, self._bindings = chart, bindings
        fresh = make_machine(chart, bindings, input)
        self._now = fresh.clock.time
        model = model_of(chart, bindings)
        fields = {**fresh.context, **{name: model.field(name, value) for name, value in context.items()}}
        self._context = freeze(fields, "context")
        self._event = init_event(freeze(dict(input), "input"))
        self.without_input: dict[str, Exception] = {}
        self.snapshot = fresh.snapshot()
        self.snapshot["context"] = thaw(self._context)
        if states:
            self._place(states)

    def _place(self, states: Collection[str]) -> None:
        active = configuration_with(self._chart, states)
        invocations = [self._invocation(invoke, n) for n, invoke in enumerate(self._invokes(active), 1)]
        timers = [*self._afters(active), *map(_timeout, (i for i in invocations if i["timeout"] is not None))]
        self.snapshot |= {
            "started": True,
            "configuration": active,
            "entry": dict.fromkeys(active, self._now),
            "idle": dict.fromkeys(active, self._now),
            "invocations": invocations,
            "number": len(invocations),
            "timers": [[due, seq, *rest] for seq, (due, *rest) in enumerate(timers, 1)],
            "seq": len(timers),
        }

    def _invokes(self, active: list[str]) -> Iterator[Invoke]:
        for name in active:
            yield from self._chart[name].invoke

    def _invocation(self, invoke: Invoke, number: int) -> dict[str, Any]:
        value: Any = None
        if invoke.input is not None:
            compute = compile_value(invoke.input, "input", self._bindings, invoke.position)
            try:
                value = thaw(freeze(compute(self._context, self._event), "input"))
            except Exception as error:  # noqa: BLE001 - raised by a bound function; reported if the scenario asks for the input
                self.without_input[invoke.id] = error
        return {
            "id": invoke.id,
            "state": invoke.state,
            "src": invoke.src,
            "input": value,
            "number": number,
            "attempt": 1,
            "started": self._now,
            "policy": "resume",  # keeps the number; no actor runs yet, so no work can be lost
            "held": False,
            "timeout": None if invoke.timeout is None else self._delay_s(invoke.timeout, f"timeout of {invoke.id!r}"),
        }

    def _afters(self, active: list[str]) -> Iterator[list[Any]]:
        for name in active:
            for after in self._chart[name].after:
                delay_s = self._delay_s(after.delay, f"after in state {name!r}")
                due = self._now + delay_s
                yield [due, after.event, after.event, {}, None, name, delay_s, after.on_restore, 0]

    def _delay_s(self, delay: Any, where: str) -> float:
        try:
            return compile_delay(delay, self._bindings)(self._context, self._event) / 1000
        except Exception as error:
            message = (
                f"the delay of {where} cannot be computed in a state that is given: {type(error).__name__}: {error}; "
                "give the context fields that it reads, or reach the state by events"
            )
            raise ContractMistake(message) from error


def make_machine(chart: Chart, bindings: Bindings, input: Mapping[str, Any], clock: Clock | None = None) -> Interpreter:
    """A machine that has not started. Code in the chart is trusted here, because the chart's loader has checked it."""
    clock = SimulatedClock() if clock is None else clock
    if chart.has_code:
        return Interpreter.trusting(chart, initial_context=input, clock=clock)
    return Interpreter(chart, bindings, input=input, clock=clock)


def _timeout(invocation: Mapping[str, Any]) -> list[Any]:
    """The timer that ends an invocation at its timeout, in the form of a snapshot."""
    number, limit_s = invocation["number"], invocation["timeout"]
    id, event = f"timeout.{number}", f"error.invoke.{invocation['id']}"
    return [invocation["started"] + limit_s, id, event, {}, None, invocation["state"], limit_s, "original", number]


def configuration_with(chart: Chart, states: Collection[str]) -> list[str]:
    """The configuration in which all of `states` are active and other states by default, in document order.

    Raises:
        ContractMistake: A state is a history state or ends the machine, or two states cannot be active together.
    """
    wanted = set(states)
    for name in states:
        state = chart[name]
        if state.is_history:
            raise ContractMistake(f"{name!r} is a history state: it is never active; give one of its siblings")
        if state.kind == "final" and state.parent == chart.root:
            raise ContractMistake(f"{name!r} ends the machine: give the state before it, and send its event")
        wanted.update(chart.ancestors(name))
    active: set[str] = set()
    _enter(chart, chart.root, wanted, active)
    return [state.name for state in chart if state.name in active]


def _enter(chart: Chart, name: str, wanted: set[str], active: set[str]) -> None:
    active.add(name)
    state = chart[name]
    inside = [child for child in state.children if not chart[child].is_history]
    if state.kind == "parallel":
        for child in inside:
            _enter(chart, child, wanted, active)
    elif inside:
        chosen = [child for child in inside if child in wanted]
        if len(chosen) > 1:
            names = " and ".join(map(repr, chosen))
            raise ContractMistake(f"{names} exclude each other: {name!r} has one active state at a time")
        if not chosen:
            for target in _defaults(chart, name):
                wanted.update((target, *chart.ancestors(target)))
            chosen = [child for child in inside if child in wanted]
        _enter(chart, chosen[0], wanted, active)


def _defaults(chart: Chart, name: str) -> Iterator[str]:
    """The targets of a state's default entry; an initial history state is replaced by its default targets."""
    for target in chart[name].initial:
        if chart[target].is_history:
            yield from chart[target].memory or _parent_initial(chart, target)
        else:
            yield target


def _parent_initial(chart: Chart, history: str) -> tuple[str, ...]:
    parent = chart[history].parent
    found = chart[parent].initial if parent is not None else ()
    return tuple(name for name in found if not chart[name].is_history)
