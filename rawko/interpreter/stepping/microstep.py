"""One microstep: carries out a plan. Also ends the machine, if the plan completes the root.

A plan for `a -> b`, where a has an exit action and b an entry action and a timer:

    operations  (ACTION, exit of a) (LEAVE a) (ACTION, entry of b) (TIMERS of b)      run in order
    target      the node {root, b}                                                    becomes the machine's node
    raised      events that the actions raised                                        go to the end of the internal
    queue
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.compiled.tables import ACTION, Plan
from rawko.interpreter.data.effects import StopInvocation
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.steps import MicroStep
from rawko.interpreter.stepping.error_events import flush_raised
from rawko.interpreter.stepping.machine import NO_INVOCATIONS, Machine
from rawko.interpreter.stepping.operations import final_output, run_operations
from rawko.interpreter.stepping.transaction import Transaction


def microstep(machine: Machine, work: Transaction, plan: Plan, event: Event | None, steps: list[Any]) -> None:
    """Carry out a plan, and add the microstep to `steps`.

    Raises:
        Failed, ListenerFailed: The macrostep must be undone.
    """
    if plan.writes:
        machine.history = {**machine.history, **dict(plan.writes)}
    observer = machine.observer
    if observer is not None and not plan.is_bound and observer.is_quiet:
        observer = None  # no listener receives it, and no contract binds it
    if observer is not None:
        observer.microstep(plan, event)
    elif plan.operations:
        run_operations(machine, work, plan.operations)
    machine.node = plan.target
    if work.raised:
        flush_raised(machine, work)
    sent: list[Any] = []
    if work.sent:
        sent, work.sent = work.sent, []
    steps.append(MicroStep(plan, event, sent))
    if observer is not None:
        observer.microstep_ended(sent)
    if plan.finished_by >= 0:
        _finish(machine, work, plan, steps)


def _finish(machine: Machine, work: Transaction, plan: Plan, steps: list[Any]) -> None:
    """End the machine: cancel timers, stop invocations, run all exit code; the configuration stays."""
    work.starting = {}
    machine.is_done = True
    machine.internal = None
    for invocation in machine.invocations.values():
        work.effects.append(StopInvocation(invocation.id, invocation.number))
    machine.invocations = NO_INVOCATIONS
    program, final, observer = machine.program, plan.finished_by, machine.observer
    output = work.outputs[final] if final in work.outputs else final_output(machine, final)
    for state in sorted(plan.target.configuration, reverse=True):
        operations = tuple(o for o in program.bound.exit_operations(state) if o[0] == ACTION)
        if observer is not None:
            observer.closing(state, operations)
        elif operations:
            run_operations(machine, work, operations)
    machine.output = output if program.bound.outputs[0] is None else final_output(machine, 0)
    work.raised = []
    machine.internal = None
    sent, work.sent = work.sent, []
    work.staged = [lambda agenda: agenda.clear()]
    steps.append(MicroStep(None, None, sent))
    if machine.observer is not None:
        machine.observer.microstep_ended(sent)
