"""One macrostep, from one stable configuration to the next; on failure all of it is undone (SCXML's main loop).

Every event can be processed by `macrostep`; `plain_step` is a faster path for simple events, and says which these are.
Failures are handled in `recovery`; `execution` chooses the event.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rawko.interpreter.compiled.bound_chart import in_blocks
from rawko.interpreter.compiled.tables import Node, Plan, Where
from rawko.interpreter.data.effects import SendTo
from rawko.interpreter.data.events import Event, InvocationEvent
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import MicroStep, Step
from rawko.interpreter.errors import InvocationError
from rawko.interpreter.stepping.error_events import flush_raised
from rawko.interpreter.stepping.invocations import end_invocation
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.microstep import microstep
from rawko.interpreter.stepping.observer import StepWatch
from rawko.interpreter.stepping.operations import run_operations
from rawko.interpreter.stepping.recovery import recover
from rawko.interpreter.stepping.stability import commit, process, stabilise
from rawko.interpreter.stepping.transaction import Transaction

TAKEN = Receipt.TAKEN


def told_macrostep(machine: Machine, observer: StepWatch, now: float, event: Event, plan: Plan) -> Step:
    """The macrostep of a plan without operations, with listeners: only a listener can fail, or queue events.

    Raises:
        BaseException: An error that a listener raised; the step is rolled back.
    """
    before = machine.node, machine.history, machine.event
    work: Transaction | None = None
    machine.is_busy = True
    try:
        event.at_ms = int(now * 1000)
        machine.event = event
        machine.idle_choice = None
        if plan.writes:
            machine.history = {**machine.history, **dict(plan.writes)}
        observer.tell(plan, event)
        machine.node = plan.target
        steps: list[Any] = [MicroStep(plan, event, [])]
        if not machine.internal:
            observer.step_ended()
            return Step(now, steps, TAKEN, (), (), plan.target)
        work = _begun_at(machine, *before)
        stabilise(machine, work, steps)
        step = commit(machine, work, now, steps, TAKEN)
        assert step is not None
        return step
    except BaseException as error:  # noqa: BLE001 - as above
        failure = error
    finally:
        machine.is_busy = False
    work = work or _begun_at(machine, *before)
    return recover(machine, work, now, event, failure, None, is_timeout=False)


def _begun_at(machine: Machine, node: Node | None, history: dict[int, tuple[int, ...]], event: Event) -> Transaction:
    """The transaction of a step that has changed only node, history and event, with the values before it."""
    work = machine.begin()
    work.node, work.history, work.event = node, history, event
    return work


def macrostep(
    machine: Machine,
    now: float,
    event: Event | None,
    *,
    plan: Plan | None = None,
    chosen: tuple[int, ...] | None = None,
    ended: Invocation | None = None,
    is_timeout: bool = False,
) -> Step | None:
    """Process an event (None: eventless transitions first) until the machine is stable; undo everything on failure.

    Args:
        plan: The plan to carry out without an event: the first entry.
        chosen: The transitions, if they have been selected already.
        ended: The invocation whose end the event reports.
        is_timeout: The invocation timed out, so its actor must be stopped.

    Raises:
        ActionError, InvocationError, EventlessCycleError: Rolled back.
        BaseException: An error that a listener raised, unchanged; rolled back.
    """
    work = machine.begin()
    steps: list[Any] = []
    machine.is_busy = True
    try:
        receipt: Receipt | None = None
        if event is not None:
            event.at_ms = int(now * 1000)
            machine.event = event
            machine.idle_choice = None
        if plan is not None:
            microstep(machine, work, plan, None, steps)
        elif event is not None:
            if machine.program.bound.passes_on:
                _pass_on(machine, work, event)
            if ended is not None:
                end_invocation(machine, work, ended, is_stopped=is_timeout)
            receipt = process(machine, work, event, steps, chosen)
            if ended is not None and receipt is not TAKEN and event.name == f"error.invoke.{ended.id}":
                raise InvocationError(ended.id, event.data.get("error"))
        stabilise(machine, work, steps)
        return commit(machine, work, now, steps, receipt)
    except BaseException as error:  # noqa: BLE001 - as above
        failure = error
    finally:
        machine.is_busy = False
    return recover(machine, work, now, event, failure, ended, is_timeout=is_timeout)


def _pass_on(machine: Machine, work: Transaction, event: Event) -> None:
    """SCXML's finalize and autoforward, which run before transitions are selected for an external event."""
    assert machine.node is not None
    program = machine.program
    for state in sorted(machine.node.configuration):
        for invoke in program.structure.states[state].invoke:
            running = machine.invocations.get(invoke.id)
            if running is None or running.state != invoke.state:
                continue
            if isinstance(event, InvocationEvent) and event.id == invoke.id and invoke.id in program.bound.finalizers:
                place = Where(f"state {invoke.state!r} (finalize {invoke.id})", "finalize", state)
                run_operations(machine, work, in_blocks(program.bound.finalizers[invoke.id], partial(_same, place)))
            if invoke.autoforward and not event.name.startswith("after."):
                work.effects.append(SendTo(invoke.id, event.name, event.data))
    flush_raised(machine, work)


def _same(place: Where) -> Where:
    return place
