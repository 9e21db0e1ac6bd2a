"""A machine under test: a simulated clock, actors whose results the test supplies, and a recorder. No asyncio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rawko.chart.definition import Chart
from rawko.chart.parse import load_chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.data.events import Event, make_event
from rawko.interpreter.data.steps import Receipt, Step
from rawko.interpreter.data.values import Record
from rawko.interpreter.running.choices import Selections
from rawko.interpreter.running.explain import Refusal
from rawko.testing.coverage.counts import Coverage
from rawko.testing.doubles import Call, Doubles
from rawko.testing.errors import ContractMistake
from rawko.testing.placing import Placed, make_machine
from rawko.testing.recorder import Recorder

GIVEN = "rawko.given"
"""The event that makes a placed machine evaluate its eventless transitions; the descriptor `*` does not match it."""

MAX_STEPS = 10_000


def create_test_actor(
    chart: Chart | str | Path,
    bindings: Bindings | None = None,
    *,
    input: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    state: str | Sequence[str] = (),
    guards: Mapping[str, bool] | None = None,
) -> TestActor:
    """A started machine whose actors' results the test supplies.

    Args:
        chart: A chart or its file.
        bindings: Functions of the chart; missing ones are replaced (see `rawko.testing.doubles.Doubles`).
        input: As for `Interpreter`.
        context: Context fields that replace the initial ones.
        state: Place the machine in this state (or these, in parallel regions) instead of starting it; no action runs.
        guards: Outcomes of guards by name; they override the bound functions.

    Raises:
        ContractMistake: The chart has no such state, field or guard.

    Source: A3-011, C-50.
    """
    definition = chart if isinstance(chart, Chart) else load_chart(chart)
    doubles = Doubles(definition, bindings)
    doubles.given.update(guards or {})
    states = (state,) if isinstance(state, str) else tuple(state)
    covered = Coverage(definition)
    return TestActor(doubles, input=input or {}, context=context or {}, states=states, coverage=covered)


class TestActor:
    """A machine whose actors' results the test supplies; made by `create_test_actor`.

    Args:
        coverage: Receives the coverage counts; None: nothing is counted.

    Attributes:
        interpreter: The machine itself.
        recorder: Every step so far.
        doubles: The bindings of the machine: they replace guards and record calls of actions.
    """

    __test__ = False  # pytest would take the class for a test class, because of its name

    def __init__(
        self,
        doubles: Doubles,
        *,
        input: Mapping[str, Any],
        context: Mapping[str, Any],
        states: Sequence[str] = (),
        coverage: Coverage | None = None,
    ) -> None:
        chart, bindings = doubles.chart, doubles.bindings
        for state in states:
            if state not in chart:
                raise ContractMistake(f"chart {chart.name!r} has no state {state!r}; states: {', '.join(chart.states)}")
        self.doubles = doubles
        self.chart = chart
        self.recorder = Recorder()
        self._coverage = coverage
        self._selections: Selections | None = None
        placed = Placed(chart, bindings, states=states, context=context, input=input)
        self.without_input = placed.without_input
        self.interpreter = make_machine(chart, bindings, input)
        restored = self.interpreter.restore(placed.snapshot)
        self._watch()
        if not states:
            self._run()
            return
        self._record(restored)
        if any(not t.events for name in self.configuration for t in chart[name].transitions):
            self._take(make_event(GIVEN, {}))

    # ------------------------------------------------------------ input from outside

    def send(self, name: str, /, **data: Any) -> Receipt:
        """Send an event and run until nothing is due; returns the event's receipt."""
        return self.send_event(make_event(name, data))

    def send_event(self, event: Event) -> Receipt:
        """`send` for an `Event` object."""
        if self.interpreter.final:
            self.recorder.receipts.append((event.name, Receipt.DONE))
            return Receipt.DONE
        before = len(self.recorder.steps)
        self._take(event)
        found = (s.receipt for s in self.recorder.steps[before:] if s.steps and s.steps[0].event is event)
        return next((receipt for receipt in found if receipt is not None), Receipt.DONE)

    def complete(self, id: str, output: Any = None) -> None:
        """Complete the running actor with this id, with its output."""
        self.interpreter.complete_invocation(id, self._running(id), output)
        self._run()

    def fail(self, id: str, error: Any) -> None:
        """Let the running actor with this id fail with an error: a mapping with `category` and `message`."""
        self.interpreter.fail_invocation(id, self._running(id), error)
        self._run()

    def deliver(self, id: str, event: str, /, **data: Any) -> None:
        """Deliver an event that the running actor with this id yields."""
        self.interpreter.deliver(id, self._running(id), event, data)
        self._run()

    def advance(self, seconds: float) -> None:
        """Advance the simulated clock, and run everything that becomes due by then."""
        clock = self.interpreter.clock
        assert isinstance(clock, SimulatedClock)
        end = clock.time + seconds
        self._run()
        while (due := self.interpreter.next_due()) is not None and due <= end:
            clock.time = max(due, clock.time)
            if not self._run():
                break
        clock.time = max(end, clock.time)
        self._run()

    def set_context(self, name: str, value: Any) -> None:
        """Change a context field without a transition: the machine is restored from a changed snapshot."""
        from rawko.interpreter.data.values import thaw
        from rawko.interpreter.stepping.machine import model_of

        snapshot = self.interpreter.snapshot()
        snapshot["context"][name] = thaw(model_of(self.chart, self.doubles.bindings).field(name, value))
        for invocation in snapshot["invocations"]:
            invocation["policy"] = "resume"
        changed = make_machine(self.chart, self.doubles.bindings, {}, self.interpreter.clock)
        changed.restore(snapshot)
        self.interpreter = changed
        self._watch()

    def _watch(self) -> None:
        """Record the machine's transition selections from now on; those made during its restore belong to no step."""
        if self._coverage is not None:
            self._selections = self._coverage.watch(self.interpreter)

    def _take(self, event: Event) -> None:
        self.interpreter.queue(event)
        self._run()

    def _running(self, id: str) -> int:
        invocation = self.interpreter.invocations.get(id)
        if invocation is None:
            running = ", ".join(map(repr, self.interpreter.invocations)) or "none"
            raise ContractMistake(f"actor {id!r} is not running; running: {running}")
        return invocation.number

    def _run(self) -> int:
        count = 0
        while (step := self.interpreter.execute_once()) is not None:
            self._record(step)
            count += 1
            if count > MAX_STEPS:
                raise ContractMistake(f"the machine does not come to rest: {MAX_STEPS} steps without the clock moving")
        return count

    def _record(self, step: Step) -> None:
        self.recorder.record(step)
        if self._coverage is not None:
            self._coverage.observe(step, () if self._selections is None else self._selections.take())

    # ------------------------------------------------------------ observable state

    @property
    def coverage(self) -> Coverage:
        """The coverage of the chart by this machine so far.

        Raises:
            ContractMistake: The machine was made without `coverage`.
        """
        if self._coverage is None:
            raise ContractMistake("the coverage of this machine is not counted: make it with coverage=Coverage(chart)")
        return self._coverage

    @property
    def configuration(self) -> tuple[str, ...]:
        """Active states, by depth, then by name."""
        return tuple(self.interpreter.configuration)

    @property
    def context(self) -> Record:
        """The machine's context, live and read-only."""
        return self.interpreter.context

    @property
    def output(self) -> Any:
        """The machine's output, once it has finished."""
        return self.interpreter.output

    @property
    def is_done(self) -> bool:
        """Whether the machine has finished."""
        return self.interpreter.final

    @property
    def calls(self) -> Sequence[Call]:
        """Actions called so far."""
        return self.doubles.calls

    def matches(self, state: str) -> bool:
        """Whether a state is active."""
        return self.interpreter.matches(state)

    def input_of(self, id: str) -> Any:
        """The input with which the actor was last started.

        Raises:
            ContractMistake: The actor was never started, or its input could not be computed.
        """
        started = [effect for effect in self.recorder.started if effect.id == id]
        if not started:
            known = ", ".join(sorted({repr(effect.id) for effect in self.recorder.started})) or "none"
            raise ContractMistake(f"actor {id!r} was never started; started: {known}")
        if len(started) == 1 and id in self.without_input:
            error = self.without_input[id]
            told = f"{type(error).__name__}: {error}"
            raise ContractMistake(f"the input of actor {id!r} cannot be computed in a given state: {told}") from error
        return started[-1].input

    def why_not(self, event: str, /, **data: Any) -> tuple[Refusal, ...]:
        """The reasons why the machine would not take an event now; empty if it would."""
        with self.doubles.unwatched():
            return self.interpreter.why_not(event, **data)

    def __repr__(self) -> str:
        return f"TestActor({self.interpreter!r})"
