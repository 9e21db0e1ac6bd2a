"""The short way of an event: guards asked, actions run, the machine set to its next configuration.

There are two ways for an event. Which one is known when an event meets a configuration for the second time:

    E: a -> b, no guard, no code         short: the machine is set to the next node, and that is all
    E: a -> b [g] / assign(n=1)          short: guard and action are called; then node and context are set in one go
    E: a -> b [g] / assign(n=1), log     short: one loop over the actions; old values are kept for the undo
    E: a -> b, b has a timer             full: a transaction stages the timer; then commit
    E: a -> b, b has `always`            full: microsteps until the configuration is stable; then commit
    anything, with contracts that look
    at more than context and event, or
    with listeners and code              full, with the observer

The short way goes over to the full one (`macrostep`) where an action raises an event or sends one. A step is set whole
or not at all, also where Ctrl-C or another signal comes: Python looks for signals after calls and in loops, and from
the first change that has no undo to the end there is neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.compiled.contracts import require
from rawko.interpreter.compiled.tables import CHECK, Plan, Way
from rawko.interpreter.data.context_model import FREE
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.freezing import FROZEN, TOO_LONG, TOO_LOW, freeze
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import MicroStep, Step, taken_step
from rawko.interpreter.data.updates import Append, Assign, Update, assigned
from rawko.interpreter.stepping.error_events import flush_raised, guard_failed
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.macrostep import macrostep
from rawko.interpreter.stepping.operations import nowhere
from rawko.interpreter.stepping.recovery import recover
from rawko.interpreter.stepping.stability import commit, stabilise
from rawko.interpreter.stepping.transaction import Transaction
from rawko.interpreter.stepping.updates import append_item, apply_update, assign_fields

TAKEN = Receipt.TAKEN
_new: Any = object.__new__
_NONE: Any = None  # of no type, since the type checker would hold that it stays so


def plain_macrostep(machine: Machine, now: float, event: Event, way: Way) -> Step:
    """Process an event in a configuration that knows a way for it, without an observer.

    Raises:
        ActionError, NotJsonError ...: Rolled back, as in `macrostep`.
    """
    event.at_ms = int(now * 1000)
    plan = way.plan
    if plan is not None:  # no guard, no code: nothing can fail
        history = _recorded(machine, plan) if plan.writes else machine.history
        step: Step = _new(Step)  # as `taken_step` does, without the call
        step._time = now
        step._plan = plan
        step._event = machine.event = event
        step.receipt = TAKEN
        step.updates = step.effects = step.following = ()
        step.node = machine.node = plan.target
        machine.history = history
        machine.idle_choice = None
        return step

    before = machine.event
    machine.event = event
    machine.idle_choice = machine.work = _NONE
    context, fields = machine.context, machine.fields
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
            action = plan.action
            if action is None:
                _run(machine, before, undo, updates, plan, event)
            else:
                try:
                    update: Any = action.update
                    if update is None:
                        update = action.function(context, event)  # type: ignore[misc]  # it has one or the other
                    if update.__class__ is Assign and machine.model is FREE and not machine.internal:
                        given: Mapping[str, Any] = update.fields
                        frozen: Any = given
                        for name in given:
                            value = given[name]
                            kind = value.__class__
                            if kind in FROZEN or (kind is int and TOO_LOW < value < TOO_LONG):
                                continue
                            if frozen is given:
                                frozen = dict(given)
                            frozen[name] = freeze(value, name)
                        if frozen.__class__ is dict:
                            history = _recorded(machine, plan) if plan.writes else machine.history
                            step = _new(Step)
                            step._time = now
                            step._plan = plan
                            step._event = event
                            step.receipt = TAKEN
                            step.updates = (update if frozen is given else assigned(frozen),)
                            step.effects = step.following = ()
                            step.node = machine.node = plan.target
                            machine.history = history
                            fields |= frozen  # the machine's own; a call of `update` would look for signals
                            return step
                    if update is not None:
                        _apply(machine, before, undo, updates, update)
                except Exception as error:
                    raise Failed("action", plan.operations[0][2].text, action.name, action.position, error) from error
            if machine.work is None and machine.internal:  # an action has queued an internal event
                _begun(machine, before, undo, updates)
            history = _recorded(machine, plan) if plan.writes else machine.history
            work = machine.work
            if work is None:
                step = taken_step(now, plan, event, tuple(updates))
                machine.node = plan.target
                machine.history = history
                return step
            machine.node = plan.target
            machine.history = history
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
    work = work or machine.work or _begun(machine, before, undo, updates)
    return recover(machine, work, now, event, failure, None, is_timeout=False)


def _recorded(machine: Machine, plan: Plan) -> dict[int, tuple[int, ...]]:
    """The history with what the plan records."""
    return {**machine.history, **dict(plan.writes)}


def _run(
    machine: Machine, before: Event, undo: list[tuple[str, Any]], updates: list[Update], plan: Plan, event: Event
) -> None:
    """Run the actions of a plan, and look at its conditions, in order.

    Raises:
        Failed: One of them has.
    """
    context = machine.context
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
            if update is not None:
                _apply(machine, before, undo, updates, update)
        except Exception as error:
            raise Failed("action", where.text, what.name, what.position, error) from error


def _apply(machine: Machine, before: Event, undo: list[tuple[str, Any]], updates: list[Update], update: Any) -> None:
    """Apply what an action returned; what is more than a change of the context begins a transaction."""
    for part in update if update.__class__ is tuple else (update,):
        if part.__class__ is Assign:
            updates.append(assign_fields(machine, undo, part))
        elif part.__class__ is Append:
            updates.append(append_item(machine, undo, part))
        elif part is not None:
            apply_update(machine, machine.work or _begun(machine, before, undo, updates), part)


def _begun(machine: Machine, before: Event, undo: list[tuple[str, Any]], updates: list[Update]) -> Transaction:
    """The transaction of a plain step that turns out to be more than that; only the context has changed so far."""
    work = machine.begin()
    work.event, work.undo, work.updates = before, undo, updates
    return work
