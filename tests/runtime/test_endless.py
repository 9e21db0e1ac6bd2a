"""An actor whose machine sends itself events for ever: it stays heard, others have their turn, nothing hangs."""

from __future__ import annotations

import asyncio

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import EventlessCycleError, MacrostepLimitError
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime import Actor, ActorCrashed
from rawko.runtime.session import Session

ENDLESS = {
    "send": "{name: a, on entry: {send: T}, transitions: [{event: T, target: a}]}",
    "a delay of nothing": "{name: a, after: {0ms: {target: a}}}",
    "send with an id": "{name: a, on entry: {send: {event: T, id: t}}, transitions: [{event: T, target: a}]}",
}
CHARTS = {
    name: parse_chart(
        "statechart:\n  name: m\n  root state:\n    name: m\n    initial: a\n"
        "    transitions: [{event: CANCEL, target: over}]\n"
        f"    states:\n    - {text}\n    - {{name: over, type: final}}\n"
    )
    for name, text in ENDLESS.items()
}


async def has_taken(actor: Actor, steps: int) -> None:
    """Wait for so many steps."""
    enough = asyncio.Event()
    end = actor.subscribe(lambda step: enough.set() if actor.session.steps >= steps else None)
    await enough.wait()
    end()


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("clock", [None, SimulatedClock])
async def test_it_hears_what_is_sent_to_it(name: str, clock: type[SimulatedClock] | None) -> None:
    turns = 0

    async def beside() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(beside())
    async with Actor(CHARTS[name], clock=None if clock is None else clock(), session=Session(kept=0)) as actor:
        await has_taken(actor, 500)
        assert (await actor.take_snapshot())["configuration"] == ["m", "a"]
        before, seen = actor.session.steps, turns
        actor.send("CANCEL")
        await actor.wait_for("over", timeout_s=60)
        assert actor.session.steps - before < 200, "it came after what waited, not after all that was to come"
        assert seen > 5, "the others had their turn"
    other.cancel()


async def test_it_can_be_stopped() -> None:
    actor = Actor(CHARTS["send"], session=Session(kept=0))
    actor.start()
    await has_taken(actor, 200)
    await actor.stop()
    assert actor.is_ended


@pytest.mark.slow
async def test_what_waits_for_rest_is_told_that_there_will_be_none() -> None:
    async with Actor(CHARTS["send"], clock=SimulatedClock(), session=Session(kept=0)) as actor:
        with pytest.raises(MacrostepLimitError, match="sending itself"):
            await actor.settle()
        with pytest.raises(MacrostepLimitError):
            await actor.advance(1)
        actor.send("CANCEL")
        await actor.wait_for("over", timeout_s=60)


async def test_a_loop_without_end_inside_a_step_ends_the_actor_with_its_name() -> None:
    chart = parse_chart(
        "statechart:\n  name: m\n  root state:\n    name: m\n    initial: a\n    states:\n"
        "    - {name: a, on entry: {raise: T}, transitions: [{event: T, action: {raise: T}}]}\n"
    )
    with pytest.raises(ActorCrashed, match="same configuration, context and queue") as caught:
        async with Actor(chart, max_microsteps=5000) as actor:
            await actor.run()
    assert isinstance(caught.value.error, EventlessCycleError)
    assert [step.event for step in caught.value.error.loop] == ["T"]
