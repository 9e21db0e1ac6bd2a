"""Failure of a macrostep: undo it, then process `error.execution`, or raise an error for the caller.

Example: E leads from a to b, and its action assigns n and then raises.

    undo              n, configuration, history, invocations, counters as before E; listeners get `step rolled back`
    a handles error   `error.execution` is processed in a, in its own macrostep: receipt FAILED, E is consumed
    a does not        the caller gets an ActionError, chained to the action's exception
"""

from __future__ import annotations

from typing import Any, NoReturn

from rawko.interpreter.compiled.tables import Rows
from rawko.interpreter.data.events import Event, InternalEvent, make_event
from rawko.interpreter.data.failures import Failed, ListenerFailed
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import MicroStep, Step
from rawko.interpreter.errors import (
    ActionError,
    ContractFailed,
    InvariantFailed,
    InvocationError,
    PostconditionFailed,
    PreconditionFailed,
)
from rawko.interpreter.stepping.error_events import error_data
from rawko.interpreter.stepping.invocations import end_invocation, forget_invocation, timeout_id
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.microstep import microstep
from rawko.interpreter.stepping.selection import choose
from rawko.interpreter.stepping.stability import commit, stabilise
from rawko.interpreter.stepping.transaction import MISSING, Transaction

_CONTRACT_ERRORS: dict[str, type[ContractFailed]] = {
    "before": PreconditionFailed,
    "after": PostconditionFailed,
    "always": InvariantFailed,
}


def undo(machine: Machine, work: Transaction) -> None:
    """Restore the state before the macrostep, except for events that others queued meanwhile."""
    machine.work = None
    fields = machine.fields
    for name, old in reversed(work.undo):
        if old is MISSING:
            fields.pop(name, None)
        else:
            fields[name] = old
    machine.node, machine.history, machine.invocations = work.node, work.history, work.invocations
    machine.number, machine.olds, machine.event = work.number, work.olds, work.event
    machine.seq = max(work.seq, machine.agenda.last_seq())
    machine.internal = None
    machine.is_done = False
    machine.output = None
    if machine.observer is not None:
        machine.observer.roll_back(work.marks)
        machine.observer.rolled_back()


def recover(
    machine: Machine,
    work: Transaction,
    now: float,
    event: Event | None,
    failure: BaseException,
    ended: Invocation | None,
    *,
    is_timeout: bool,
) -> Step:
    """Undo the macrostep; then process `error.execution`, if the configuration handles it.

    Raises:
        ActionError: The configuration does not handle it.
        BaseException: Any failure but a `Failed`, unchanged; for a listener's failure, the listener's own error.
    """
    error = error_of(machine, failure, event) if isinstance(failure, Failed) else None
    undo(machine, work)
    if isinstance(failure, InvocationError) and ended is not None:  # the end was reported, and will not be again
        forget_invocation(machine, ended)
        machine.agenda.cancel(timeout_id(ended.number))
    if error is None or not isinstance(failure, Failed):
        _raise(failure)
    if event is not None and machine.node is not None:
        machine.event = event  # the event stays consumed
    if machine.node is not None:
        step = _try_error_event(machine, now, event, failure, error, ended, is_timeout=is_timeout)
        if step is not None:
            return step
    raise error from failure.cause if isinstance(failure.cause, BaseException) else None


def _try_error_event(
    machine: Machine,
    now: float,
    event: Event | None,
    failure: Failed,
    error: ActionError,
    ended: Invocation | None,
    *,
    is_timeout: bool,
) -> Step | None:
    """The step in which the machine handles the failure itself; None if it does not handle it."""
    program, node = machine.program, machine.node
    assert node is not None
    rows = program.rows(node, program.structure.event_key("error.execution"))
    if not rows.rows:
        return None
    work = machine.begin()
    machine.is_busy = True
    try:
        step = _process_error(machine, work, now, event, failure, rows, ended, is_timeout=is_timeout)
        machine.work = None
        return step
    except BaseException as second:  # noqa: BLE001 - for any error the machine is restored first
        undo(machine, work)
        if not isinstance(second, Failed):
            _raise(second)
        error.add_note(f"error.execution was tried, and failed too: {second.where}: {second.message}")
        return None
    finally:
        machine.is_busy = False


def _process_error(
    machine: Machine,
    work: Transaction,
    now: float,
    event: Event | None,
    failure: Failed,
    rows: Rows,
    ended: Invocation | None,
    *,
    is_timeout: bool,
) -> Step | None:
    failed_event = make_event("error.execution", error_data(failure, event), InternalEvent)
    failed_event.at_ms = int(now * 1000)
    node, before = machine.node, machine.event
    assert node is not None
    machine.event = failed_event
    chosen = rows.fixed if rows.fixed is not None else choose(machine, rows, failed_event)
    if not chosen:
        machine.event = before
        return None
    if ended is not None:
        end_invocation(machine, work, ended, is_stopped=is_timeout)
    steps: list[Any] = [] if event is None else [MicroStep(None, event, [])]
    if machine.observer is not None:
        machine.observer.resumed(now, event)
        machine.observer.event_consumed(failed_event)
    machine.idle_choice = None
    microstep(machine, work, machine.program.plan(node, chosen, machine.history), failed_event, steps)
    stabilise(machine, work, steps)
    return commit(machine, work, now, steps, Receipt.FAILED)


# ---------------------------------------------------------------- errors for the caller


def error_of(machine: Machine, failure: Failed, event: Event | None) -> ActionError:
    """The error for the caller, with the machine's present state."""
    fields: dict[str, Any] = {
        "kind": failure.kind,
        "where": failure.where,
        "function": failure.function,
        "position": failure.position,
        "event": event,
    }
    if not failure.contract:
        return ActionError(failure.message, **fields)
    found = _CONTRACT_ERRORS[failure.contract](failure.message, **fields)
    found.describe(machine.configuration, _sismic_element(machine, failure.element), dict(machine.visible_context))
    return found


def _sismic_element(machine: Machine, element: Any) -> Any:
    """The state (by name) or transition (by index) in sismic's model."""
    lowered = machine.program.structure.lowered
    if isinstance(element, int):
        return lowered.transitions[element][0]
    return lowered.statechart.state_for(element)


def _raise(failure: BaseException) -> NoReturn:
    """Raise a listener's own error for its `ListenerFailed`; any other failure unchanged."""
    if isinstance(failure, ListenerFailed):
        raise failure.cause from failure.cause.__cause__
    raise failure
