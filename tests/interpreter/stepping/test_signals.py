"""A signal in mid-step: Ctrl-C raises wherever Python looks for signals, and no step is left half done."""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings, Interpreter, append, assign, emit, raise_

SIGNALLED = """
statechart:
  name: signalled
  root state:
    name: root
    initial: work
    states:
      - name: work
        initial: a
        transitions:
          - {event: REST, target: rest}
          - {event: REST_CODED, target: rest, action: count}
        states:
          - name: a
            transitions:
              - {event: SET, target: b}
              - {event: ONE, target: b, guard: is_counted, action: count}
              - {event: MANY, target: b, action: count_both}
              - {event: NESTED, target: b, action: keep}
              - {event: TWO, target: b, action: [count, count_both]}
              - {event: LISTED, target: b, action: note}
              - {event: RAISED, target: b, action: shout}
              - {event: FIXED, target: b, action: [{assign: {n: 7, m: 8}}]}
          - name: b
          - {name: recent, type: deep history}
      - name: rest
"""


BINDINGS = Bindings()
BINDINGS.add("guard", "is_counted", lambda context, event: context.n == 0)
BINDINGS.add("action", "count", lambda context, event: assign(n=context.n + 1))
BINDINGS.add("action", "count_both", lambda context, event: assign(n=context.n + 1, m=context.m + 1))
BINDINGS.add("action", "keep", lambda context, event: assign(m={"kept": [1, {"n": 2}]}, new=[3]))
BINDINGS.add("action", "note", lambda context, event: (assign(n=context.n + 1), append("log", {"n": context.n})))
BINDINGS.add("action", "shout", lambda context, event: (assign(n=context.n + 1), raise_("HEARD"), emit("E", n=1)))
CHART = parse_chart(SIGNALLED)


def signalled() -> Interpreter:
    machine = Interpreter(CHART, BINDINGS, input={"n": 0, "m": 0, "log": []})
    machine.start()
    return machine


def interrupted(machine: Interpreter, event: str, place: int) -> bool:
    """Send an event, with Ctrl-C at that place of those where Python looks for signals: as a function of Python's
    begins, and as a built-in one returns. Whether there are so many places.

    The garbage of earlier tests is not collected meanwhile: its callbacks would be counted, and would swallow Ctrl-C.
    """
    seen = 0

    def count(frame: FrameType, what: str, given: Any) -> None:
        nonlocal seen
        seen += what in ("call", "c_return")
        if seen == place:
            raise KeyboardInterrupt

    gc.disable()
    sys.setprofile(count)
    try:
        machine.send(event)
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
        gc.enable()
    return False


EVENTS = ("SET", "ONE", "MANY", "NESTED", "TWO", "LISTED", "RAISED", "FIXED", "REST", "REST_CODED")


@pytest.mark.parametrize("event", EVENTS)
def test_a_signal_finds_the_machine_before_a_step_or_after_it(event: str) -> None:
    def state(machine: Interpreter) -> Any:
        return {key: machine.snapshot()[key] for key in ("configuration", "context", "history")}

    done = signalled()
    before = state(done)
    done.send(event)
    after, place = state(done), 1
    while interrupted(machine := signalled(), event, place):
        assert state(machine) in (before, after), place
        machine.send("REST")  # it goes on
        assert machine.matches("rest")
        place += 1
    assert state(machine) == after
    assert place >= 5
