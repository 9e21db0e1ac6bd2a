"""Runs the operations of a plan: actions, timers set and cancelled, invocations staged, done events raised."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.compiled.contracts import require
from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.tables import ACTION, CHECK, DONE, INVOKE, LEAVE, TIMERS, Operation, Where
from rawko.interpreter.data.events import InternalEvent, make_event
from rawko.interpreter.data.failures import Failed, ListenerFailed
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.updates import Assign
from rawko.interpreter.stepping.error_events import fail_or_raise, raise_error
from rawko.interpreter.stepping.event_queue import Timer
from rawko.interpreter.stepping.invocations import stop_invocation, value_of
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.transaction import Transaction
from rawko.interpreter.stepping.updates import apply_update, assign


def run_operations(machine: Machine, work: Transaction, operations: tuple[Operation, ...]) -> None:
    """Run the operations of an exit, a transition or an entry.

    Raises:
        Failed: An action, a delay, an output or a contract failed; with `errors: scxml` only a contract raises.
    """
    context, event = machine.context, machine.event
    for kind, what, where in operations:
        if kind == ACTION:
            try:
                update = what.update
                if update is None:
                    if what.function is None:
                        assert machine.observer is not None
                        machine.observer.execute(what, where, event)
                        continue
                    update = what.function(context, event)
                    if update is None:
                        continue
                if update.__class__ is Assign:
                    assign(machine, work, update)
                else:
                    apply_update(machine, work, update)
            except (Failed, ListenerFailed):
                raise
            except Exception as error:
                failed = Failed("action", where.text, what.name, what.position, error)
                if not machine.program.bound.errors_are_events:
                    raise failed from error
                raise_error(machine, failed)
                run_operations(machine, work, _after_block(operations, what, where))
                return
        elif kind == LEAVE:
            _leave(machine, work, what, *where)
        elif kind == TIMERS:
            _set_timers(machine, work, what)
        elif kind == INVOKE:
            work.starting[what] = event
        elif kind == DONE:
            _raise_done(machine, work, what, where)
        elif kind == CHECK and not machine.ignores_contracts:
            program = machine.program
            require(program.structure, program.bound.conditions, what, where, context, event, None, nowhere)


def _leave(
    machine: Machine, work: Transaction, state: int, timers: tuple[str, ...], invocations: tuple[str, ...]
) -> None:
    """Cancel the timers and stop the invocations of an exited state."""
    work.staged.extend(timers)
    if work.starting.pop(state, None) is None:
        for id in invocations:
            if id in machine.invocations:
                stop_invocation(machine, work, machine.invocations[id])


def _set_timers(machine: Machine, work: Transaction, timers: Any) -> None:
    for after, delay in timers:
        try:
            delay_s = delay(machine.context, machine.event) / 1000
        except Exception as error:  # noqa: BLE001 - a bound function raises what it likes
            where = f"state {after.state!r} (after)"
            name = getattr(after.delay, "name", "after")
            fail_or_raise(machine, Failed("delay", where, name, after.position, error), error)
            continue
        machine.seq += 1
        due, event = machine.time + delay_s, after.event
        work.staged.append(
            Timer(due, machine.seq, event, event, {}, state=after.state, delay=delay_s, policy=after.on_restore)
        )


def _raise_done(machine: Machine, work: Transaction, name: str, final: int) -> None:
    output = None
    if final >= 0:
        output = work.outputs[final] = final_output(machine, final)
    event = make_event(name, {"output": output}, InternalEvent)
    assert isinstance(event, InternalEvent)
    work.raised.append(event)


def final_output(machine: Machine, state: int) -> Any:
    """The output of a final state, or of the root; None if it has none."""
    compute = machine.program.bound.outputs[state]
    if compute is None:
        return None
    definition = machine.program.structure.states[state]
    try:
        return freeze(value_of(machine, compute, machine.event), "output")
    except Exception as error:  # noqa: BLE001 - as above
        where = f"state {definition.name!r} (output)"
        fail_or_raise(machine, Failed("output", where, str(definition.output), definition.position, error), error)
        return None


def nowhere(name: str) -> bool:
    """`is_active` for conditions that do not read the configuration."""
    return False


def _after_block(operations: tuple[Operation, ...], action: CompiledAction, block: Where) -> tuple[Operation, ...]:
    """The operations that still run after an action failed: all but the actions of its block."""
    place = next(i for i, (_, what, where) in enumerate(operations) if what is action and where is block)
    return tuple(each for each in operations[place + 1 :] if each[0] != ACTION or each[2] is not block)
