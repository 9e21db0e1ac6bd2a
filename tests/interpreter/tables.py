"""Tables of semantics: a chart, events, and what is left, done and entered for each.

Every state and transition of a case is noted as it happens: `-a` left, `>a` its transition's action, `+a` entered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from textwrap import indent
from types import MappingProxyType
from typing import Any

from sismic.clock import SimulatedClock

from rawko.chart import parse_chart
from rawko.chart.assemble import sealed
from rawko.chart.definition import CallAction, Chart, LiteralArgument, State
from rawko.interpreter import Bindings, Interpreter, Updates, append


def chart_of(text: str, **keys: str) -> Chart:
    """A chart whose root state is written in `text`; other keys of the statechart by name."""
    head = "".join(f"  {key.replace('_', ' ')}: {value}\n" for key, value in keys.items())
    return parse_chart(f"statechart:\n  name: case\n{head}  root state:\n{indent(text.strip(chr(10)), '    ')}\n")


def note(context: Any, event: Any, what: str) -> Updates:
    """Write down that something happened."""
    return append("log", what)


def noting() -> Bindings:
    """Bindings with `note`."""
    bindings = Bindings()
    bindings.action(note)
    return bindings


def _noting(what: str) -> CallAction:
    return CallAction("note", (("what", LiteralArgument(what)),))


def noted(chart: Chart) -> Chart:
    """The chart, writing down each exit, transition and entry."""
    states: dict[str, State] = {}
    transitions = tuple(replace(t, actions=(_noting(f">{t.source}"), *t.actions)) for t in chart.transitions)
    for state in chart:
        states[state.name] = replace(
            state,
            on_entry=(_noting(f"+{state.name}"), *state.on_entry),
            on_exit=(_noting(f"-{state.name}"), *state.on_exit),
            transitions=tuple(transitions[t.index] for t in state.transitions),
        )
    return sealed(replace(chart, states=MappingProxyType(states), transitions=transitions))


def machine(text: str | Chart, bindings: Bindings | None = None, **keys: Any) -> Interpreter:
    """A machine that notes what it does in its context's `log`; not started."""
    chart = noted(chart_of(text) if isinstance(text, str) else text)
    names = noting() if bindings is None else noting() | bindings
    return Interpreter(chart, names, input={"log": [], **keys})


class Log:
    """What a machine has noted since it was last read."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.read = 0

    def __call__(self) -> str:
        found = list(self.interpreter.context["log"])[self.read :]
        self.read += len(found)
        return " ".join(found)


def set_clock(interpreter: Interpreter, time: float) -> None:
    """Move a simulated clock without running the machine."""
    assert isinstance(interpreter.clock, SimulatedClock)
    interpreter.clock.time = time


def leaves(interpreter: Interpreter) -> str:
    """Active states without active children, in document order."""
    active = set(interpreter.configuration)
    chart = interpreter.chart
    return " ".join(s.name for s in chart if s.name in active and not active & set(s.children))


@dataclass(frozen=True)
class Case:
    """One row: a chart, what its start notes, and for each event what it notes and where it ends."""

    id: str
    text: str
    start: str
    steps: tuple[tuple[str, str, str], ...]
    guards: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def play(self) -> None:
        """Compare."""
        bindings = Bindings()
        for name, function in self.guards.items():
            bindings.add("guard", name, function)
        interpreter = machine(self.text, bindings)
        log = Log(interpreter)
        interpreter.start()
        assert log() == self.start, "start"
        for number, (event, expected, end) in enumerate(self.steps):
            step = interpreter.send(event)
            assert (number, event, log()) == (number, event, expected)
            assert (number, event, leaves(interpreter)) == (number, event, end)
            entered = [f"+{name}" for one in (step, *step.following) for name in one.entered_states]
            assert [word for word in expected.split() if word.startswith("+")] == entered
