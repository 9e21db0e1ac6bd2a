"""Simulated time for a tree of actors: the clock moves from one due time to the next, and everybody gets to act."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rawko.interpreter.clocks import SimulatedClock

if TYPE_CHECKING:
    from rawko.runtime.actor import Actor

QUIET_TURNS = 20
"""Turns of the loop without news, after which a tree counts as settled."""


async def advance(actor: Actor, seconds: float) -> None:
    """Move the clock of a tree. See `Actor.advance`."""
    clock = actor.interpreter.clock
    if not isinstance(clock, SimulatedClock):
        raise TypeError(f"advance needs a SimulatedClock, found {type(clock).__name__}")
    end = clock.time + seconds
    await settle(actor)
    while (due := actor.next_due()) is not None and due <= end:
        await _move(actor, clock, due)
    await _move(actor, clock, end)


async def _move(actor: Actor, clock: SimulatedClock, time: float) -> None:
    clock.time = max(time, clock.time)
    for one in tree_of(actor):
        one.wake_up()
    await settle(actor)


async def settle(actor: Actor) -> None:
    """Let the loop run until nobody has anything to do. See `Actor.settle`."""
    quiet, news = 0, -1
    while quiet < QUIET_TURNS:
        for one in tree_of(actor):
            await one.until_idle()
        await asyncio.sleep(0)
        latest = actor.session.stream.latest
        quiet, news = (quiet + 1 if news == latest else 0), latest


def tree_of(actor: Actor) -> list[Actor]:
    """An actor and all below it."""
    return [actor, *(below for child in actor.children.values() for below in tree_of(child))]
