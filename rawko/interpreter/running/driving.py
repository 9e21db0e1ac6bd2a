"""Runs a machine macrostep by macrostep until nothing is due, within bounds; computes when something will be due.

`once` is a function that runs one macrostep and notifies subscribers: `Interpreter.execute_once`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ulp
from typing import TypeAlias

from sismic.clock import SimulatedClock

from rawko.interpreter.data.events import Event
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.steps import Step
from rawko.interpreter.errors import MacrostepLimitError
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.observer import IdleWatch

Once: TypeAlias = Callable[[], Step | None]


def may_go_on(machine: Machine) -> bool:
    """Whether an event or timer is queued, or trusted code or invariants must run because time has passed."""
    agenda, observer = machine.agenda, machine.observer
    return bool(agenda.queue or agenda.heap or machine.internal) or (
        observer is not None and not observer.is_listening_only
    )


def execute(machine: Machine, once: Once, max_macrosteps: int, max_steps: int) -> list[Step]:
    """Run macrosteps until nothing is due, at most `max_steps` of them if positive.

    Raises:
        MacrostepLimitError: `max_steps` is not positive, and the machine keeps sending itself events.
    """
    steps: list[Step] = []
    agenda = machine.agenda
    limit = max_macrosteps + len(agenda.queue or ()) + len(agenda.heap or ())  # inline `_limit`
    while (step := once()) is not None:
        steps.append(step)
        if 0 < max_steps == len(steps) or (machine.observer is None and not may_go_on(machine)):
            break
        if len(steps) > limit and max_steps <= 0 and may_go_on(machine):
            raise MacrostepLimitError(max_macrosteps, steps)
    return steps


def run_to(machine: Machine, once: Once, event: Event, before: list[Step], max_macrosteps: int) -> Step:
    """Run until nothing is due; return the step of the event, which must be queued, joined with the steps before it.

    Raises:
        MacrostepLimitError: The machine keeps sending itself events.
    """
    found: Step | None = None
    following: list[Step] = []
    limit = _limit(machine, max_macrosteps)
    while not machine.is_done and may_go_on(machine):
        if len(before) + len(following) >= limit:
            raise MacrostepLimitError(max_macrosteps, [*before, *((found,) if found else ()), *following])
        step = once()
        if step is None:
            break
        if found is not None:
            following.append(step)
        elif step._steps[0].event is event:
            found = step
        else:
            before.append(step)
    if found is None:  # the machine finished before the event's turn came
        found = Step(machine.time, [], Receipt.DONE, node=machine.node)
    if before:
        found = _with_earlier(found, before)
    found.following = tuple(following)
    return found


def executed_after(step: Step, execute: Callable[[], Sequence[Step]]) -> tuple[Step, ...]:
    """The steps that follow a step; a MacrostepLimitError gets this step as its first."""
    try:
        return tuple(execute())
    except MacrostepLimitError as error:
        raise MacrostepLimitError(error.limit, (step, *error.steps)) from None


def advance(
    clock: SimulatedClock, seconds: float, execute: Callable[[], Sequence[Step]], next_due: Callable[[], float | None]
) -> tuple[Step, ...]:
    """Advance a simulated clock, stopping at each time at which something becomes due.

    From second 0 by 100 s, with timers due at 10 and 60 in a state that the first one leaves: steps at 10 only.

    Raises:
        MacrostepLimitError: The machine keeps sending itself events that are due at once.
    """
    end = clock.time + seconds
    steps: list[Step] = []
    try:
        steps += execute()
        # 0.7 + 0.1 is a little less than 0.8: times that exceed the end only by rounding are due.
        while (due := next_due()) is not None and due <= end + 4 * ulp(end):
            clock.time = max(due, clock.time)
            steps += execute()
        clock.time = max(end, clock.time)
        steps += execute()
    except MacrostepLimitError as error:
        raise MacrostepLimitError(error.limit, (*steps, *error.steps)) from None
    return tuple(steps)


def next_due(machine: Machine) -> float | None:
    """When something will become due without an event, in seconds of the clock; None if nothing will."""
    if machine.is_done:
        return None
    due = machine.agenda.next_due()
    watch: IdleWatch | None = machine.observer
    if watch is not None:
        timed = watch.next_timed_guard()
        if timed is not None and (due is None or timed < due):
            return timed
    return due


def is_at_rest(machine: Machine) -> bool:
    """Whether a step now would do nothing: nothing is due, and no invariant or timed guard must be checked."""
    return (
        not machine.is_done
        and not machine.internal
        and (machine.observer is None or not machine.observer.looks_when_idle)
        and machine.agenda.peek(machine.now) is None
    )


def _limit(machine: Machine, max_macrosteps: int) -> int:
    """The bound on macrosteps of a call: events queued before it come on top, since they may be from elsewhere."""
    agenda = machine.agenda
    return max_macrosteps + len(agenda.queue or ()) + len(agenda.heap or ())


def _with_earlier(found: Step, before: list[Step]) -> Step:
    """The step with the microsteps, updates and effects of earlier steps before its own."""
    return Step(
        found.time,
        [micro for step in (*before, found) for micro in step.steps],
        found.receipt,
        tuple(u for step in (*before, found) for u in step.updates),
        tuple(e for step in (*before, found) for e in step.effects),
        found.node,
    )
