"""Simulated time for a tree of actors: moves the clock from one due time to the next, and lets all actors step."""

from __future__ import annotations

import asyncio

from rawko.interpreter.bounds.limits import MAX_MACROSTEPS
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.errors import MacrostepLimitError
from rawko.runtime.actor_parts.members import Member

LOOK_EVERY_S = 0.25
"""Interval at which a tree that does not settle is checked."""
QUIET_TURNS = 20
"""Turns of the loop without a step, after which a tree counts as settled."""


async def advance(actor: Member, seconds: float) -> None:
    """Advance the clock of a tree. See `Actor.advance`."""
    clock = actor.interpreter.clock
    if not isinstance(clock, SimulatedClock):
        raise TypeError(f"advance needs a SimulatedClock, found {type(clock).__name__}")
    end = clock.time + seconds
    await settle(actor)
    while (due := actor.next_due()) is not None and due <= end:
        await _move(actor, clock, due)
    await _move(actor, clock, end)


async def _move(actor: Member, clock: SimulatedClock, time: float) -> None:
    clock.time = max(time, clock.time)
    for one in tree_of(actor):
        one.wake_up()
    await settle(actor)


async def settle(actor: Member) -> None:
    """Let the loop run until no actor of the tree has anything to do. See `Actor.settle`."""
    quiet, news = 0, -1
    begun = actor.session.steps
    while quiet < QUIET_TURNS:
        for one in tree_of(actor):
            while not one.is_idle:
                await one.until_idle(LOOK_EVERY_S)
                _require_end(one, begun)
        await asyncio.sleep(0)
        latest = actor.session.stream.latest
        quiet, news = (quiet + 1 if news == latest else 0), latest


def _require_end(actor: Member, begun: int) -> None:
    """Stop waiting for a machine that keeps sending itself events.

    Raises:
        MacrostepLimitError: It is not idle after MAX_MACROSTEPS steps of the tree.
    """
    if actor.session.steps - begun > MAX_MACROSTEPS and not actor.is_idle:
        raise MacrostepLimitError(MAX_MACROSTEPS, () if actor.last_step is None else (actor.last_step,))


def tree_of(actor: Member) -> list[Member]:
    """An actor and all child machines below it."""
    return [actor, *(below for child in actor.children.values() for below in tree_of(child))]
