"""What a callback may not ask in the middle of a step: it is refused, and the step goes on as if it had not asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sismic.clock import SimulatedClock

from rawko.chart import Chart, parse_chart
from rawko.interpreter import Bindings, Interpreter, InterpreterError, SnapshotError

TEXT = """
statechart:
  name: lamp
  root state:
    name: lamp
    initial: off
    states:
    - name: "off"
      on exit: look
      transitions:
      - {event: PLAIN, target: lit}
      - {event: BUSY, guard: seen, target: lit, action: [look, {raise: NEXT}, {send: {event: LATER, delay: 1s}}]}
      - {event: FAIL, target: lit, action: fail}
    - name: lit
      on entry: look
      transitions: [{event: NEXT, target: burnt}, {event: PLAIN, target: "off"}]
    - {name: burnt, invoke: {id: w, src: work, input: seen_input, timeout: limit}, after: {limit: {target: "off"}}}
    always: {guard: never}
"""
PLAIN = TEXT.replace("on exit: look", "").replace("on entry: look", "").replace("always: {guard: never}", "")
EVENTS = ("FAIL", "PLAIN", "BUSY", "UNKNOWN")

Ask = Callable[[Interpreter], object]
REFUSED: dict[str, tuple[Ask, type[Exception]]] = {
    "snapshot": (lambda machine: machine.snapshot(), SnapshotError),
    "restore": (lambda machine: machine.restore(TAKEN[machine.chart.hash]), SnapshotError),
    "send": (lambda machine: machine.send("PLAIN"), InterpreterError),
    "execute": (lambda machine: machine.execute(), InterpreterError),
    "advance": (lambda machine: machine.advance(1), InterpreterError),
    "start": (lambda machine: machine.start(), InterpreterError),
    "checkpoint": (lambda machine: machine.checkpoint(), InterpreterError),
    "roll back": (lambda machine: machine.roll_back_to({}), InterpreterError),
    "release": (lambda machine: machine.release("w"), InterpreterError),
}
CHARTS = {text: parse_chart(text) for text in (TEXT, PLAIN)}
TAKEN: dict[str, dict[str, Any]] = {}


class Asking:
    """Everything that is called in mid-step asks the machine for one thing, and notes whether that was refused."""

    def __init__(self, ask: Ask | None, expected: type[Exception]) -> None:
        self._ask = ask
        self._expected = expected
        self.machine: Interpreter | None = None
        self.places: set[str] = set()

    def __call__(self, place: str) -> None:
        if self._ask is None or self.machine is None:
            return
        self.places.add(place)
        with pytest.raises(self._expected):
            self._ask(self.machine)

    def bindings(self) -> Bindings:
        bindings = Bindings()

        def value(place: str, answer: Any, *_: object) -> Any:
            self(place)
            return answer

        def fail(context: object, event: object) -> None:
            self("action")
            raise ValueError("it fails")

        bindings.add("action", "look", partial(value, "action", None))
        bindings.add("action", "fail", fail)
        bindings.add("guard", "seen", partial(value, "guard", True))
        bindings.add("guard", "never", partial(value, "eventless guard", False))
        bindings.add("input", "seen_input", partial(value, "input", {}))
        bindings.add("delay", "limit", partial(value, "delay", 5000))
        bindings.add("actor", "work", lambda input: None)
        return bindings

    def made(self, chart: Chart, *, listens: bool, subscribes: bool) -> Interpreter:
        machine = Interpreter(chart, self.bindings(), clock=SimulatedClock())
        if listens:
            machine.attach(lambda event: self(f"listener: {event.name}"))
        if subscribes:
            machine.subscribe(lambda step: self("subscriber"))
        self.machine = machine
        return machine


def story(machine: Interpreter) -> list[Any]:
    """What becomes of the events, one after the other, by `send` and by `queue`."""
    found: list[Any] = [machine.start().entered_states]
    for event in EVENTS:
        for go in (machine.send, lambda name: machine.queue(name).execute()):
            try:
                go(event)
            except InterpreterError as error:
                found.append(str(error))
            found.append((event, machine.configuration, machine.snapshot()))
    found.append([step.entered_states for step in machine.advance(20)])
    return found


@pytest.mark.parametrize("text", [TEXT, PLAIN], ids=["with code", "plain"])
@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_everywhere_in_a_step_and_changes_nothing(text: str, listens: bool, name: str) -> None:
    chart = CHARTS[text]
    TAKEN[chart.hash] = Asking(None, Exception).made(chart, listens=False, subscribes=False).snapshot()
    asking = Asking(*REFUSED[name])
    assert story(asking.made(chart, listens=listens, subscribes=True)) == story(
        Asking(None, Exception).made(chart, listens=listens, subscribes=True)
    )
    expected = {"subscriber", "action", "guard", "input", "delay"}
    if text is TEXT:
        expected |= {"eventless guard"}
    if listens:
        told = "step started, event consumed, state exited, transition processed, state entered, event sent, step ended"
        expected |= {f"listener: {each}" for each in (*told.split(", "), "step rolled back")}
    assert expected <= asking.places


def test_a_listener_that_lets_the_refusal_pass_loses_no_event() -> None:
    machine = Interpreter(CHARTS[PLAIN], Asking(None, Exception).bindings())
    machine.start()

    def listener(event: object) -> None:
        machine.snapshot()

    machine.attach(listener)
    with pytest.raises(SnapshotError, match="between steps"):
        machine.send("PLAIN")
    machine.detach(listener)
    assert machine.configuration == ["lamp", "off"]
    machine.execute()
    assert machine.configuration == ["lamp", "lit"]
