"""Runs microsteps until the machine is stable: eventless transitions first, else the next internal event.

Example: E leads from a to b; b has `always: {guard: g, target: c}`; the entry of c raises F, which c handles.

    process E   microstep a -> b        g is called: true
    eventless   microstep b -> c        c has no eventless transition; F is queued
    process F   microstep in c          no eventless transition, queue empty: stable
    commit      timers, sends and invocations of all three microsteps begin now
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bounds.repetition import Repetition, limit_error
from rawko.interpreter.compiled.tables import Node, Plan
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import MicroStep, Step
from rawko.interpreter.stepping.error_events import flush_raised
from rawko.interpreter.stepping.invocations import start_invocations
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.microstep import microstep
from rawko.interpreter.stepping.selection import choose
from rawko.interpreter.stepping.transaction import Transaction


def process(
    machine: Machine, work: Transaction, event: Event, steps: list[Any], chosen: tuple[int, ...] | None = None
) -> Receipt:
    """Select transitions for an event, unless the caller has done so (`chosen`), and take them.

    Raises:
        Failed, ListenerFailed: The macrostep must be undone.
    """
    node, program = machine.node, machine.program
    assert node is not None
    name: str = event.name
    rows = node.rows.get(name)
    if rows is None:
        rows = program.rows(node, program.structure.event_key(name))
    if chosen is None:
        chosen = rows.fixed
        if chosen is None:
            chosen = choose(machine, rows, event)
        elif machine.observer is not None:
            machine.observer.chosen(rows, event, chosen)
    if machine.observer is not None:
        machine.observer.event_consumed(event)
    if chosen:
        plan = node.plans.get(chosen)
        if plan.__class__ is not Plan:
            plan = program.plan(node, chosen, machine.history)
        microstep(machine, work, plan, event, steps)
        return Receipt.TAKEN
    steps.append(MicroStep(None, event, []))
    if rows.receipt is Receipt.UNKNOWN and name in machine.chart.events:
        return Receipt.NOT_HANDLED
    return rows.receipt


def stabilise(machine: Machine, work: Transaction, steps: list[Any]) -> None:
    """Take eventless transitions, else the next internal event, until there is neither.

    Raises:
        EventlessCycleError: The microsteps repeat, or exceed the bound.
        Failed, ListenerFailed: The macrostep must be undone.
    """
    program = machine.program
    if not (program.has_eventless or machine.internal):
        return
    count, next_look = 0, machine.first_look
    watch: Repetition | None = None
    while not machine.is_done:
        if count >= next_look:
            if count >= machine.max_microsteps:
                raise limit_error(machine, steps, machine.max_microsteps)
            if watch is None:
                watch = Repetition(machine, steps)
            else:
                watch.look()
        node = machine.node
        assert node is not None
        rows = node.rows.get(None) or program.rows(node, None)
        chosen = rows.fixed
        if chosen is None:
            chosen = choose(machine, rows, None)
        elif machine.observer is not None:
            machine.observer.chosen(rows, None, chosen)
        if not chosen or chosen == machine.idle_choice:
            if not machine.internal:
                return
            event = machine.internal.popleft()
            machine.idle_choice = None
            event.at_ms = int(machine.time * 1000)
            machine.event = event
            process(machine, work, event, steps)
        else:
            _take_eventless(machine, work, node, chosen, steps)
        count += 1


def _take_eventless(machine: Machine, work: Transaction, node: Node, chosen: tuple[int, ...], steps: list[Any]) -> None:
    """Take eventless transitions. If they change nothing, they are not taken again until an event is processed.

    Example: `always: {guard: is_on, action: note}` without a target stays enabled for as long as `is_on` is true. If
    `note` returns None, it is taken once (`machine.idle_choice`); if it assigns, it is taken until the guard is false.
    """
    plan = node.plans.get(chosen)
    if plan.__class__ is not Plan:
        plan = machine.program.plan(node, chosen, machine.history)
    if not plan.is_still:
        microstep(machine, work, plan, None, steps)
        machine.idle_choice = None
        return
    before = _traces(machine, work)
    microstep(machine, work, plan, None, steps)
    machine.idle_choice = chosen if _traces(machine, work) == before else None


def _traces(machine: Machine, work: Transaction) -> tuple[int, int, int, int]:
    """Counts of the changes that a microstep can leave beside the configuration."""
    return (len(work.updates), len(work.effects), len(work.staged), len(machine.internal or ()))


def find_idle_choice(machine: Machine, then: float) -> None:
    """For a restored machine: find the eventless transitions that changed nothing at time `then`, and so wait for an
    event.
    """
    node, now, program = machine.node, machine.time, machine.program
    assert node is not None
    machine.time = then
    try:
        rows = program.rows(node, None)
        chosen = rows.fixed if rows.fixed is not None else choose(machine, rows, None)
        plan = program.plan(node, chosen, machine.history) if chosen else None
    except Failed:
        return  # it raises again at the next step
    finally:
        machine.work = machine.internal = None  # drop what a failing guard raised: it will be raised again
        machine.time = now
    if plan is not None and plan.is_still:
        machine.idle_choice = chosen


def commit(machine: Machine, work: Transaction, now: float, steps: list[Any], receipt: Receipt | None) -> Step | None:
    """End a macrostep: start invocations, apply the staged changes to the queue. None if no microstep was taken.

    Raises:
        Failed, ListenerFailed: The macrostep must be undone.
    """
    if work.starting:
        start_invocations(machine, work)
        while work.raised:  # only if failures are events: an input has failed
            flush_raised(machine, work)
            stabilise(machine, work, steps)
            start_invocations(machine, work)
    if not steps:
        machine.work = None
        return None
    if machine.observer is not None:
        machine.observer.step_ended()  # the last thing that may fail, and undo all
    if work.staged:
        work.apply_to(machine.agenda)
    machine.work = None
    return Step(now, steps, receipt, tuple(work.updates), tuple(work.effects), machine.node)
