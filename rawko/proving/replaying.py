"""Takes a path of the checker again with a real `Interpreter`: with its own queues, timers, invocations and clock.

The chart is the same one without data; its guards answer as recorded in the path. Configuration and running invocations
are compared after each step.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from rawko.interpreter import Interpreter
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.errors import EventlessCycleError, InvocationError
from rawko.interpreter.monitoring.meta_event_names import ENTERED, EXITED, STEP_ENDED, STEP_STARTED
from rawko.proving.hearing.traces import Heard, MetaEvent, meta_event_of
from rawko.proving.outcomes import ROUND, Outcome, bare
from rawko.proving.script import Script, scripted_bindings, settled
from rawko.proving.system import ControlSystem, Edge, Move, SystemState


def replay(system: ControlSystem, way: Sequence[tuple[Move, Outcome]]) -> str:
    """Take a path again from the start; "" where all steps agree, else the first difference."""
    if not way:
        return ""
    step = system.step
    script = Script(_unique_place, step.originals or ())
    bindings = scripted_bindings(step.chart, system.bounds, script, step.data)
    script.given = [answer for _, answer in way[0][1].answers]
    first = settled(step.data.first, step.data, script, None)
    begun = len(script.answers)
    machine = Interpreter(step.chart, bindings, input=first, clock=SimulatedClock(), ignore_contract=True)
    noting = _HeardEvents(step.heard)
    if step.heard.events:
        machine.attach(noting)
    state = SystemState(-1)
    for number, (move, outcome) in enumerate(way, start=1):
        script.restart()
        script.given = [answer for name, answer in outcome.answers]
        if number == 1:
            script.given = script.given[begun:]
        try:
            _happen(machine, move)
        except (InvocationError, EventlessCycleError) as error:
            return "" if outcome.problem else f"step {number}, {move}: {error}"
        except LookupError as error:
            return f"step {number}, {move}: {error}"
        if outcome.problem == ROUND:
            return ""  # how long the round repeats depends on data: there is no end to compare
        if outcome.problem:
            return f"step {number}, {move}: the interpreter has no problem with it"
        following = _follow(system, state, move, outcome)
        if following is None:
            return f"step {number}, {move}: leads to nothing that was explored"
        state = following
        if step.heard.events and not outcome.trace.accepts(noting.noted):
            return f"step {number}, {move}: monitors hear {noting.noted}, and not {list(outcome.trace.parts)}"
        expected = system.step.names(state.control)
        if tuple(machine.configuration) != expected:
            return f"step {number}, {move}: active is {machine.configuration}, and not {list(expected)}"
        running = {id for id, bit in system.step.bit.items() if state.running & bit}
        if set(machine.invocations) != running:
            return f"step {number}, {move}: running is {sorted(machine.invocations)}, and not {sorted(running)}"
    return ""


class _HeardEvents:
    """A listener that records what monitors would hear: the end of a step only where a state was exited or entered."""

    def __init__(self, heard: Heard) -> None:
        self.heard = heard
        self.noted: list[MetaEvent] = []
        self.has_moved = False

    def __call__(self, event: Any) -> None:
        if event.name == STEP_STARTED:
            self.noted, self.has_moved = [], False
        self.has_moved |= event.name in (ENTERED, EXITED)
        if event.name in self.heard.events and (event.name != STEP_ENDED or self.has_moved):
            self.noted.append(meta_event_of(event))


def _happen(machine: Interpreter, move: Move) -> None:
    """Make the move happen. Raises LookupError where it is not possible now."""
    if move.kind == "start":
        machine.start()
        return
    if move.kind in ("done", "error", "each"):
        running = machine.invocations.get(move.subject)
        if running is None:
            raise LookupError(f"actor {move.subject!r} is not running")
        if move.kind == "done":
            machine.complete_invocation(running.id, running.number, move.ending or None)
        elif move.kind == "error":
            machine.fail_invocation(running.id, running.number, move.ending or {"code": "any"})
        else:
            machine.deliver(running.id, running.number, move.event, {})
    elif move.kind == "timer":
        clock: Any = machine.clock
        due = [row[0] for row in machine.snapshot()["timers"] if row[3] == move.event]
        if not due:
            raise LookupError("no such timer waits")
        clock.time = max(clock.time, min(due))
    elif move.kind in ("event", "failure"):
        machine.queue(move.event)
    machine.execute_once()


def _follow(system: ControlSystem, state: SystemState, move: Move, outcome: Outcome) -> SystemState | None:
    edges: list[Edge] = system.initial() if move.kind == "start" else system.transition(state, move)
    wanted = bare(outcome)  # outcomes that are equal in this are merged into one edge
    return next((edge.target for edge in edges if bare(edge.outcome) == wanted), None)


def _unique_place() -> Hashable:
    return object()  # never equal, so that no run counts as repeated: the path says where to stop
