"""The fast path for simple events: call guards, run actions, set the machine to its next configuration.

Whether an event takes the fast path is worked out when it first meets a configuration:

    E: a -> b, no guard, no code         fast: only sets the machine to the next node
    E: a -> b [g] / count                fast: calls guard and action, then sets node and context together, if the
                                         action returns nothing but `assign` and `append`
    E: a -> b [g] / count, log           fast: one loop over the actions; keeps old values for the undo
    E: a -> b, b has a timer             full: a transaction stages the timer; then commit
    E: a -> b, b has `always`            full: microsteps until the configuration is stable; then commit
    anything, with contracts that look
    at more than context and event, or
    with listeners and code              full, with the observer

If an action raises or sends an event, the step continues as a full one (`macrostep`). A step is applied entirely or not
at all, even if Ctrl-C or another signal arrives: Python handles signals only after calls and in loops, and there is
neither between the first change without an undo record and the end.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from rawko.interpreter.compiled.contracts import require
from rawko.interpreter.compiled.tables import CHECK, Plan, Way
from rawko.interpreter.data.context_model import FREE
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import MicroStep, Step, TakenStep, taken_step
from rawko.interpreter.data.updates import Append, Assign, Update
from rawko.interpreter.stepping.changes import changes_of, frozen_assign
from rawko.interpreter.stepping.error_events import flush_raised, guard_failed
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.macrostep import macrostep
from rawko.interpreter.stepping.operations import nowhere
from rawko.interpreter.stepping.recovery import recover
from rawko.interpreter.stepping.stability import commit, stabilise
from rawko.interpreter.stepping.transaction import Transaction
from rawko.interpreter.stepping.updates import append_item, apply_update, assign_fields

TAKEN = Receipt.TAKEN
_NONE: Any = None  # None without a type, which mypy would otherwise narrow
Applied: TypeAlias = tuple[list[tuple[str, Any]], list[Update]]
"""What actions have changed so far: the old values of fields, and the updates, both in order."""


def plain_macrostep(machine: Machine, now: float, event: Event, way: Way) -> Step:
    """Process an event that has a way in this configuration, for a machine without an observer.

    Raises:
        ActionError, NotJsonError ...: Rolled back, as in `macrostep`.
    """
    event.at_ms = int(now * 1000)
    plan = way.plan
    if plan is not None:  # no guard, no code: nothing can fail
        history = _recorded(machine, plan) if plan.writes else machine.history
        step: Step = TakenStep()  # inline `taken_step`, without the call
        step._time = now
        step._plan = plan
        step._event = machine.event = event
        step.updates = step.following = ()
        machine.node = plan.target
        machine.history = history
        machine.idle_choice = None
        return step

    before = machine.event
    machine.event = event
    machine.idle_choice = machine.work = _NONE
    context, fields = machine.context, machine.fields
    applied: Applied | None = None
    updates: tuple[Update, ...]
    work: Transaction | None = None
    machine.is_busy = True
    # The loop ends in one of four ways: `return` with the whole step; `break` before any action has run, and the full
    # macrostep takes the branch; `else` if no guard is true; an exception, after which `recover` undoes the step.
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
                    break  # to the full macrostep
            action = plan.action
            if action is None:
                applied = [], []
                _run(machine, before, applied, plan, event)
            else:
                try:
                    update: Any = action.update
                    if update is None:
                        update = action.function(context, event)  # type: ignore[misc]  # has one or the other
                    changes: Any = None
                    if machine.model is FREE and not machine.internal:
                        if update.__class__ is Assign:
                            update = frozen_assign(update)
                            changes, updates = update.fields, (update,)
                        elif update.__class__ is tuple and (found := changes_of(update, fields)) is not None:
                            changes, updates = found
                    if changes.__class__ is dict:
                        history = _recorded(machine, plan) if plan.writes else machine.history
                        step = TakenStep()
                        step._time = now
                        step._plan = plan
                        step._event = event
                        step.updates = updates
                        step.following = ()
                        machine.node = plan.target
                        machine.history = history
                        fields |= changes  # `update()` would be a call, after which signals are handled
                        return step
                    applied = [], []
                    if update is not None:
                        _apply(machine, before, applied, update)
                except Exception as error:
                    raise Failed("action", plan.operations[0][2].text, action.name, action.position, error) from error
            if machine.work is None and machine.internal:  # an action has queued an internal event
                _begun(machine, before, applied)
            history = _recorded(machine, plan) if plan.writes else machine.history
            work = machine.work
            if work is None:
                step = taken_step(now, plan, event, tuple(applied[1]))
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
    except BaseException as error:  # noqa: BLE001 - for any error the machine is restored first
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
    work = work or machine.work or _begun(machine, before, applied or ([], []))
    return recover(machine, work, now, event, failure, None, is_timeout=False)


def _recorded(machine: Machine, plan: Plan) -> dict[int, tuple[int, ...]]:
    """The history with the records that the plan writes."""
    return {**machine.history, **dict(plan.writes)}


def _run(machine: Machine, before: Event, applied: Applied, plan: Plan, event: Event) -> None:
    """Run the actions of a plan and check its conditions, in order.

    Raises:
        Failed: An action or a condition failed.
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
                _apply(machine, before, applied, update)
        except Exception as error:
            raise Failed("action", where.text, what.name, what.position, error) from error


def _apply(machine: Machine, before: Event, applied: Applied, update: Any) -> None:
    """Apply what an action returned; an update that is not a change of the context begins a transaction."""
    undo, updates = applied
    for part in update if update.__class__ is tuple else (update,):
        if part.__class__ is Assign:
            updates.append(assign_fields(machine, undo, part))
        elif part.__class__ is Append:
            updates.append(append_item(machine, undo, part))
        elif part is not None:
            apply_update(machine, machine.work or _begun(machine, before, applied), part)


def _begun(machine: Machine, before: Event, applied: Applied) -> Transaction:
    """The transaction of a plain step that an action made a full one; only the context has changed so far."""
    work = machine.begin()
    work.event = before
    work.undo, work.updates = applied
    return work
