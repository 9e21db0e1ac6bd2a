"""One macrostep, from one stable configuration to the next, whole or not at all (SCXML's main loop).

There are two ways for an event. Which one is known when an event meets a configuration for the second time:

    E: a -> b, no guard, no code         plain: the machine is set to the next node, and that is all
    E: a -> b [g] / assign(n=1)          plain: one loop over guards and actions; old values are kept for the undo
    E: a -> b, b has a timer             full: a transaction stages the timer; then commit
    E: a -> b, b has `always`            full: microsteps until the configuration is stable; then commit
    anything, with contracts that look
    at more than context and event, or
    with listeners and code              full, with the observer

The plain way goes over to the full one where an action raises an event or sends one. What happens when something fails
is in `recovery`; what is due, in `execution`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rawko.interpreter.compiled.bound_chart import in_blocks
from rawko.interpreter.compiled.contracts import require
from rawko.interpreter.compiled.tables import CHECK, Node, Plan, Way, Where
from rawko.interpreter.data.context_model import FREE
from rawko.interpreter.data.effects import SendTo
from rawko.interpreter.data.events import Event, InvocationEvent
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.freezing import FROZEN, TOO_LONG, TOO_LOW, freeze
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import MicroStep, Step
from rawko.interpreter.data.updates import Append, Assign, Update, assigned
from rawko.interpreter.errors import InvocationError
from rawko.interpreter.stepping.error_events import flush_raised, guard_failed
from rawko.interpreter.stepping.invocations import end_invocation
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.microstep import microstep
from rawko.interpreter.stepping.observer import StepWatch
from rawko.interpreter.stepping.operations import nowhere, run_operations
from rawko.interpreter.stepping.recovery import recover
from rawko.interpreter.stepping.stability import commit, process, stabilise
from rawko.interpreter.stepping.transaction import MISSING, Transaction
from rawko.interpreter.stepping.updates import append_item, apply_update

TAKEN = Receipt.TAKEN
_new: Any = object.__new__


def plain_macrostep(machine: Machine, now: float, event: Event, way: Way) -> Step:
    """Process an event in a configuration that knows a way for it, without an observer.

    Raises:
        ActionError, NotJsonError ...: Rolled back, as in `macrostep`.
    """
    event.at_ms = int(now * 1000)
    before = machine.event
    machine.event = event
    machine.idle_choice = None
    plan = way.plan
    if plan is not None:  # no guard, no code: nothing can fail
        if plan.writes:
            machine.history = {**machine.history, **dict(plan.writes)}
        machine.node = plan.target
        micro = _new(MicroStep)  # as `MicroStep(...)` and `Step(...)` do, which take twice as long
        micro.plan = plan
        micro.event = event
        micro.sent_events = []
        step: Step = _new(Step)
        step._time = now
        step._steps = [micro]
        step.receipt = TAKEN
        step.updates = step.effects = step.following = ()
        step.node = plan.target
        return step

    context, fields, model = machine.context, machine.fields, machine.model
    is_free = model is FREE
    undo: list[tuple[str, Any]] = []
    updates: list[Update] = []
    work: Transaction | None = None
    machine.is_busy = True
    try:
        for branch in way.branches:
            guard = branch.guard
            if guard is not None:
                try:
                    is_true = guard(context, event)
                except Exception as error:
                    raise guard_failed(machine, branch.chosen[0], error) from error
                if not is_true:
                    continue
            plan = branch.plan
            if plan is None:
                if not branch.is_full and machine.node is not None:
                    plan = machine.program.settle(machine.node, branch, machine.history)
                if plan is None:
                    break  # to the full way
            for kind, what, where in plan.operations:
                if kind == CHECK:
                    if not machine.ignores_contracts:
                        program = machine.program
                        require(program.structure, program.bound.conditions, what, where, context, event, None, nowhere)
                    continue
                try:
                    update = what.update
                    if update is None:
                        update = what.function(context, event)
                        if update is None:
                            continue
                    for part in update if update.__class__ is tuple else (update,):
                        if part.__class__ is Assign:  # as in `updates.assign`: half of all actions do just this
                            given = part.fields
                            frozen: dict[str, Any] | None = None
                            for name, value in given.items():
                                value_kind = value.__class__
                                if not is_free:
                                    accepted = model.field(name, value)
                                elif value_kind in FROZEN or (value_kind is int and TOO_LOW < value < TOO_LONG):
                                    accepted = value
                                else:
                                    accepted = freeze(value, name)
                                if accepted is not value:
                                    frozen = frozen or dict(given)
                                    frozen[name] = accepted
                                undo.append((name, fields.get(name, MISSING)))
                                fields[name] = accepted
                            updates.append(part if frozen is None else assigned(frozen))
                        elif part.__class__ is Append:
                            updates.append(append_item(machine, undo, part))
                        elif part is not None:
                            if work is None:
                                work = _begun(machine, before, undo, updates)
                            apply_update(machine, work, part)
                except Exception as error:
                    raise Failed("action", where.text, what.name, what.position, error) from error
            if work is None and machine.internal:  # an action has queued an internal event
                work = _begun(machine, before, undo, updates)
            if plan.writes:
                machine.history = {**machine.history, **dict(plan.writes)}
            machine.node = plan.target
            if work is None:
                micro = _new(MicroStep)
                micro.plan = plan
                micro.event = event
                micro.sent_events = []
                step = _new(Step)
                step._time = now
                step._steps = [micro]
                step.receipt = TAKEN
                step.updates = tuple(updates)
                step.effects = step.following = ()
                step.node = plan.target
                return step
            if work.raised:
                flush_raised(machine, work)
            sent, work.sent = work.sent, []
            steps: list[Any] = [MicroStep(plan, event, sent)]
            if machine.internal:
                stabilise(machine, work, steps)
            done = commit(machine, work, now, steps, TAKEN)
            assert done is not None
            return done
        else:
            return Step(now, [MicroStep(None, event, [])], way.receipt, (), (), machine.node)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the machine goes back first
        failure: BaseException | None = error
    else:
        failure = None
    finally:
        machine.is_busy = False
    if failure is None:
        machine.event = before
        taken = macrostep(machine, now, event, chosen=branch.chosen)
        assert taken is not None
        return taken
    work = work or _begun(machine, before, undo, updates)
    return recover(machine, work, now, event, failure, None, is_timeout=False)


def _begun(machine: Machine, before: Event, undo: list[tuple[str, Any]], updates: list[Update]) -> Transaction:
    """The transaction of a plain step that turns out to be more than that; only the context has changed so far."""
    work = machine.begin()
    work.event, work.undo, work.updates = before, undo, updates
    return work


def told_macrostep(machine: Machine, observer: StepWatch, now: float, event: Event, plan: Plan) -> Step:
    """The plain way of a plan without operations where listeners are told: only they can fail, and they may queue
    events.

    Raises:
        BaseException: What a listener has raised; rolled back.
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
    """The transaction of a step that was only told so far."""
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
    """Process an event (None: eventless transitions first) to stability, whole or not at all.

    Args:
        plan: What to do without an event: the first entry.
        chosen: The transitions, where they have been selected already.
        ended: The invocation whose end the event tells.
        is_timeout: It has not told it itself, and must be stopped.

    Raises:
        ActionError, InvocationError, EventlessCycleError: Rolled back.
        BaseException: What a listener has raised, as it is; rolled back.
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
    """SCXML's finalize and autoforward, before anything is selected for an external event."""
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
