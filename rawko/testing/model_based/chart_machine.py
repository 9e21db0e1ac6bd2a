"""A chart as a stateful test of hypothesis: events, actors and time in any order, until something fails.

    class TestDoor(chart_machine("door.yaml", bindings, invariants={"never wide": lambda door: ...}).TestCase): ...

Events, outputs and errors of actors, and steps of the clock come in any order. The test finds broken contracts of the
chart, functions that raise, machines that never become stable, machines that differ after a restored snapshot, and
violated `invariants`; hypothesis shortens the sequence that led to the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rawko.chart.definition import Chart
from rawko.chart.errors import hint
from rawko.chart.parse import load_chart
from rawko.interpreter.bindings import Bindings
from rawko.testing.actor import TestActor, create_test_actor
from rawko.testing.doubles import Doubles
from rawko.testing.errors import ContractMistake
from rawko.testing.placing import make_machine

Payloads: TypeAlias = "Mapping[str, st.SearchStrategy[Any]]"
_INTERNAL = ("after.", "done.", "error.", "each.", "rawko.")
_SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5)
_ERRORS = st.fixed_dictionaries(
    {"category": st.sampled_from(("unknown", "timeout", "network")), "message": st.text(max_size=5)}
)


def chart_machine(
    chart: Chart | str | Path,
    bindings: Bindings | None = None,
    *,
    input: st.SearchStrategy[Mapping[str, Any]] | None = None,
    events: Payloads | None = None,
    outputs: Payloads | None = None,
    errors: Payloads | None = None,
    invariants: Mapping[str, Callable[[TestActor], object]] | None = None,
    longest_wait_s: int = 3600,
) -> type[RuleBasedStateMachine]:
    """A state machine of hypothesis that plays with a chart; pytest and unittest collect its `TestCase`.

    Args:
        chart: A chart or its file.
        bindings: Functions of the chart. Guards without function have random outcomes, actions without one do nothing.
        input: Inputs of the machine.
        events: Payloads of events, by name; by default any values in the fields that the chart declares for the event.
        outputs, errors: Outputs and errors with which an invocation ends, by its id.
        invariants: Functions of the machine by what they promise; one that returns False or raises AssertionError fails
            the test. They are called after each step.
        longest_wait_s: The most seconds by which one step advances the clock.

    Raises:
        ContractMistake: The chart has no such event or invocation.
    """
    definition = chart if isinstance(chart, Chart) else load_chart(chart)
    own = Bindings() if bindings is None else bindings
    names = _events(definition)
    invocations = [each.id for state in definition for each in state.invoke]
    _require(names, {**(events or {})}, "events", definition.name)
    for given in (outputs, errors):
        _require(invocations, given or {}, "invocations", definition.name)
    unbound = sorted(Doubles(definition, own).guards - own.names("guard"))
    answers = st.fixed_dictionaries({name: st.booleans() for name in unbound})

    class Machine(_ChartMachine):
        pass

    def start(self: _ChartMachine, given: Mapping[str, Any], answers: dict[str, bool]) -> None:
        self.begin(create_test_actor(definition, own, input=given, guards=answers))

    parts: dict[str, Any] = {
        "start": initialize(given=input or st.just({}), answers=answers)(start),
        "wait": rule(seconds=st.integers(1, longest_wait_s), answers=answers)(_wait),
    }
    for number, name in enumerate(names):
        payload = (events or {}).get(name, _payload(definition, name))
        part = rule(payload=payload, answers=answers)(_sends(name))
        parts[f"send_{_named(name, number, names)}"] = precondition(_is_running)(part)
    for number, id in enumerate(invocations):
        is_invoked = precondition(_invokes(id))
        word = _named(id, number, invocations)
        output, error = (outputs or {}).get(id, _SCALARS), (errors or {}).get(id, _ERRORS)
        parts[f"complete_{word}"] = is_invoked(rule(output=output, answers=answers)(_completes(id)))
        parts[f"fail_{word}"] = is_invoked(rule(error=error, answers=answers)(_fails(id)))
    for number, (says, holds) in enumerate((invariants or {}).items()):
        parts[f"invariant_{number}"] = invariant()(_holds(says, holds))
    return type(f"{_named(definition.name, 0, ())}_machine", (Machine,), parts)


class _ChartMachine(RuleBasedStateMachine):
    """Base class of the state machines: the machine under test, and the check that a snapshot restores it."""

    actor: TestActor | None = None

    def begin(self, actor: TestActor) -> None:
        self.actor = actor
        self._raise_mistake()

    def run_step(self, answers: dict[str, bool], do: Callable[[TestActor], object]) -> None:
        """Run `do` with the machine, while unbound guards have the outcomes `answers`."""
        assert self.actor is not None
        self.actor.doubles.given.update(answers)
        do(self.actor)
        self._raise_mistake()

    def _raise_mistake(self) -> None:
        assert self.actor is not None
        if self.actor.doubles.mistake is not None:
            raise self.actor.doubles.mistake

    @invariant()
    def a_snapshot_brings_it_back(self) -> None:
        """A machine restored from the snapshot has the same states, context, history, timers and output."""
        if self.actor is None:
            return
        snapshot = self.actor.interpreter.snapshot()
        again = make_machine(self.actor.chart, self.actor.doubles.bindings, {}, self.actor.interpreter.clock)
        with self.actor.doubles.unwatched():
            again.restore({**snapshot, "invocations": [{**one, "policy": "resume"} for one in snapshot["invocations"]]})
        found = again.snapshot()
        for part in ("configuration", "history", "context", "timers", "done", "output"):
            assert found[part] == snapshot[part], f"{part}: {found[part]!r}, and it was {snapshot[part]!r}"


def _is_running(self: Any) -> bool:
    return self.actor is not None and not self.actor.is_done


def _wait(self: _ChartMachine, seconds: int, answers: dict[str, bool]) -> None:
    self.run_step(answers, lambda actor: actor.advance(seconds))


def _sends(name: str) -> Callable[..., None]:
    def send(self: _ChartMachine, payload: Mapping[str, Any], answers: dict[str, bool]) -> None:
        self.run_step(answers, lambda actor: actor.send(name, **payload))

    return send


def _invokes(id: str) -> Callable[[Any], bool]:
    def is_invoked(self: Any) -> bool:
        return self.actor is not None and id in self.actor.interpreter.invocations

    return is_invoked


def _completes(id: str) -> Callable[..., None]:
    def complete(self: _ChartMachine, output: Any, answers: dict[str, bool]) -> None:
        self.run_step(answers, lambda actor: actor.complete(id, output))

    return complete


def _fails(id: str) -> Callable[..., None]:
    def fail(self: _ChartMachine, error: Any, answers: dict[str, bool]) -> None:
        self.run_step(answers, lambda actor: actor.fail(id, error))

    return fail


def _holds(says: str, holds: Callable[[TestActor], object]) -> Callable[[Any], None]:
    def check(self: Any) -> None:
        if self.actor is not None:
            assert holds(self.actor) is not False, f"{says}; active: {', '.join(self.actor.configuration)}"

    return check


def _events(chart: Chart) -> list[str]:
    """External events that the chart names, in order, without wildcards."""
    named = (name for transition in chart.transitions for name in transition.events)
    return [
        name for name in dict.fromkeys((*named, *chart.events)) if "*" not in name and not name.startswith(_INTERNAL)
    ]


def _payload(chart: Chart, name: str) -> st.SearchStrategy[Any]:
    declared = chart.events.get(name)
    return st.fixed_dictionaries(dict.fromkeys(declared.fields if declared is not None else (), _SCALARS))


def _require(known: list[str], given: Mapping[str, object], kind: str, chart: str) -> None:
    for name in given:
        if name not in known:
            raise ContractMistake(f"{chart} has no {name!r} among its {kind}{hint(name, known, kind)}")


def _named(text: str, number: int, all: object) -> str:
    """A Python name for a name of the chart; its number is appended if two names would be equal."""
    word = "".join(char if char.isalnum() and char.isascii() else "_" for char in text)
    words = ["".join(c if c.isalnum() and c.isascii() else "_" for c in one) for one in all]  # type: ignore[attr-defined]
    return word if words.count(word) < 2 else f"{word}_{number}"
