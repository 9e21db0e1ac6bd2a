"""Runs a system until it settles: turn after turn in one fixed order, that of an `Actor` in its event loop.

Machines wait in a line. The first one takes macrosteps until it has nothing to do; then the next one has its turn.

    at the beginning      all machines with something to do, in the order of the tree
    sent a message        joins the end of the line, unless it is in the line already
    made                  a child machine joins the end twice; it starts at its second place
    ended                 its parent is told when the ended machine's place in the line comes

An `Actor` differs in three points that depend on more than the machines: functions in the event loop run in between; an
invocation after a stopped one waits until that has ended; after 50 steps a machine lets others go first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

from rawko.interpreter.bounds.limits import MAX_MACROSTEPS
from rawko.interpreter.errors import MacrostepLimitError
from rawko.system.draft import Draft, waits
from rawko.system.effects import StepTaken
from rawko.system.errors import NotPossible
from rawko.system.moves import ROOT, Until
from rawko.system.stepping import Transitioned
from rawko.system.system import Member, System, paths


class Place(NamedTuple):
    """A place in the line of turns."""

    what: Literal["turn", "made", "start", "end"]
    path: str
    number: int


def settle(system: System) -> Transitioned:
    """Run a system until no machine has anything to do; returns it with all effects in order. No time passes.

    Raises:
        ActionError, InvocationError, EventlessCycleError: As `transition`.
        MacrostepLimitError: The machines keep sending each other events; `steps` has their steps.
    """
    draft = Draft(system)
    _settle(draft, [path for path in system if waits(draft.machines[path], system.time)])
    return draft.system(), tuple(draft.effects)


def advance(system: System, seconds: float) -> Transitioned:
    """Let this many seconds pass, settling the system before, at each time at which a timer is due, and at the end.

    Raises:
        NotPossible: `seconds` < 0, or not a finite number.
        ActionError, InvocationError, EventlessCycleError, MacrostepLimitError: As `settle`.
    """
    end = system.time + seconds
    if not seconds >= 0 or end == float("inf"):
        raise NotPossible(Until(end), f"{seconds!r} is no time to pass; accepted: seconds >= 0, finite")
    draft = Draft(system)
    _settle(draft, [path for path in system if waits(draft.machines[path], system.time)])
    while (due := _next_due(draft)) is not None and due <= end:
        draft.time = max(due, draft.time)
        _settle(draft, paths(draft.machines))
    draft.time = max(end, draft.time)
    _settle(draft, paths(draft.machines))
    return draft.system(), tuple(draft.effects)


def _next_due(draft: Draft) -> float | None:
    timers = (one.state.timers for one in draft.machines.values() if not one.is_ended)
    return min((timers[0].due for timers in timers if timers), default=None)


def _settle(draft: Draft, first: Iterable[str]) -> None:
    draft.notes.clear()
    line = deque(_first_place(path, draft.machines[path]) for path in first)
    waiting = {path for what, path, _ in line if what == "turn"}
    count, limit = 0, MAX_MACROSTEPS + sum(len(one.inbox) for one in draft.machines.values())
    while line:
        place = line.popleft()
        what, path, number = place
        if what == "turn":
            waiting.discard(path)
        member = draft.machines.get(path)
        if member is None or member.number != number:
            continue  # the machine was stopped in the meantime
        if what == "made":
            line.append(Place("start", path, number))
        elif what == "end":
            draft.tell_end(path)
        elif what == "start":
            draft.start(path)
        _follow(draft, path, line, waiting)
        while what in ("turn", "start") and _goes_on(draft, path, number):
            draft.take(path)
            _follow(draft, path, line, waiting)
            count += 1
            if count > limit:
                steps = [effect.step for effect in draft.effects if isinstance(effect, StepTaken)]
                raise MacrostepLimitError(MAX_MACROSTEPS, steps)


def _first_place(path: str, member: Member) -> Place:
    what: Literal["turn", "start", "end"] = "turn" if member.is_started else "start"
    return Place("end" if member.is_ended and path != ROOT else what, path, member.number)


def _goes_on(draft: Draft, path: str, number: int) -> bool:
    member = draft.machines.get(path)
    return (
        member is not None
        and member.number == number
        and not member.is_ended
        and (bool(member.inbox) or member.state.is_due(draft.time))
    )


def _follow(draft: Draft, path: str, line: deque[Place], waiting: set[str]) -> None:
    """Add the machines that the last step concerns to the line."""
    for kind, other, number in draft.notes:
        if kind == "made":
            line.append(Place("made", other, number))
        elif kind == "ended":
            line.append(Place("end", other, number))
        elif other != path and other not in waiting:
            found = draft.machines.get(other)
            if found is not None and found.is_started and not found.is_ended:
                waiting.add(other)
                line.append(Place("turn", other, number))
    draft.notes.clear()
