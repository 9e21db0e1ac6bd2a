"""Runs a machine macrostep by macrostep until nothing is due, within bounds, and says what will be due.

`once` is what executes one macrostep and passes it to subscribers: `Interpreter.execute_once`.
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
    """Whether something waits, or code must be asked that looks at the time."""
    agenda, observer = machine.agenda, machine.observer
    return bool(agenda.queue or agenda.heap or machine.internal) or (
        observer is not None and not observer.is_listening_only
    )


def execute(machine: Machine, once: Once, max_macrosteps: int, max_steps: int) -> list[Step]:
    """Run macrosteps until nothing is due, at most `max_steps` of them if positive.

    Raises:
        MacrostepLimitError: Without `max_steps`, where the machine goes on sending itself events.
    """
    steps: list[Step] = []
    agenda = machine.agenda
    limit = max_macrosteps + len(agenda.queue or ()) + len(agenda.heap or ())  # as `_limit`, without a call
    while (step := once()) is not None:
        steps.append(step)
        if 0 < max_steps == len(steps) or (machine.observer is None and not may_go_on(machine)):
            break
        if len(steps) > limit and max_steps <= 0 and may_go_on(machine):
            raise MacrostepLimitError(max_macrosteps, steps)
    return steps


def run_to(machine: Machine, once: Once, event: Event, before: list[Step], max_macrosteps: int) -> Step:
    """Run until nothing is due; the step of the event, which is queued, with what came before it.

    Raises:
        MacrostepLimitError: The machine goes on sending itself events.
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
    """What else there is to do after a step; an error tells that it has happened, too."""
    try:
        return tuple(execute())
    except MacrostepLimitError as error:
        raise MacrostepLimitError(error.limit, (step, *error.steps)) from None


def advance(
    clock: SimulatedClock, seconds: float, execute: Callable[[], Sequence[Step]], next_due: Callable[[], float | None]
) -> tuple[Step, ...]:
    """Move a simulated clock, stopping at everything that becomes due on the way.

    Raises:
        MacrostepLimitError: The machine goes on sending itself events that are due at once.
    """
    end = clock.time + seconds
    steps: list[Step] = []
    try:
        steps += execute()
        # 0.7 and 0.1 are a little less than 0.8: what is due by so little later is due.
        while (due := next_due()) is not None and due <= end + 4 * ulp(end):
            clock.time = max(due, clock.time)
            steps += execute()
        clock.time = max(end, clock.time)
        steps += execute()
    except MacrostepLimitError as error:
        raise MacrostepLimitError(error.limit, (*steps, *error.steps)) from None
    return tuple(steps)


def next_due(machine: Machine) -> float | None:
    """When something will happen by itself, in seconds of the clock; None: never without an event."""
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
    """Whether nothing would come of a step now: nothing waits, no invariant or timed guard is asked."""
    return (
        not machine.is_done
        and not machine.internal
        and (machine.observer is None or not machine.observer.looks_when_idle)
        and machine.agenda.peek(machine.now) is None
    )


def _limit(machine: Machine, max_macrosteps: int) -> int:
    """Macrosteps that a call may take: what waits now, be it much, is not the machine's own doing."""
    agenda = machine.agenda
    return max_macrosteps + len(agenda.queue or ()) + len(agenda.heap or ())


def _with_earlier(found: Step, before: list[Step]) -> Step:
    """One step to return for what ran before it too: its updates and effects come first."""
    return Step(
        found.time,
        [micro for step in (*before, found) for micro in step.steps],
        found.receipt,
        tuple(u for step in (*before, found) for u in step.updates),
        tuple(e for step in (*before, found) for e in step.effects),
        found.node,
    )
