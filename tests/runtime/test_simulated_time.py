"""Simulated time: everything that becomes due happens, in order, through the whole tree; nothing else does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings
from rawko.interpreter.clocks import SimulatedClock, WallClock
from rawko.runtime import Actor, ChildMachine, child_machine

PULSE = """
statechart:
  name: {name}
  root state:
    name: {name}
    initial: a
    states:
      - {{name: a, after: {{{delay}: b}}}}
      - {{name: b, on entry: {{emit: PULSE}}, after: {{{delay}: a}}}}
"""


async def test_timers_of_a_tree_come_in_order_of_their_time() -> None:
    kid = parse_chart(PULSE.format(name="kid", delay="2s"))
    chart = parse_chart(
        """
statechart:
  name: top
  root state:
    name: top
    type:
    parallel states:
      - name: left
        invoke: {id: kid, src: kid, on error: left}
      - name: right
        initial: a
        states:
          - {name: a, after: {3s: b}}
          - {name: b, on entry: {emit: PULSE}, after: {3s: a}}
""".replace("    type:\n", "")
    )
    bindings = Bindings()
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(kid, Bindings(), {})))
    pulses: list[tuple[str, float]] = []
    async with Actor(chart, bindings, clock=SimulatedClock()) as actor:
        actor.inspect(lambda e: pulses.append((e["actor"], e["time"])) if e["type"] == "emit" else None)
        await actor.advance(10)
    assert pulses == [("root/kid", 2), ("root", 3), ("root/kid", 6), ("root", 9), ("root/kid", 10)]


async def test_time_that_stands_still_lets_nothing_happen() -> None:
    chart = parse_chart(PULSE.format(name="c", delay="1s"))
    async with Actor(chart, clock=SimulatedClock()) as actor:
        await actor.settle()
        rows = actor.session.stream.latest
        await actor.advance(0)
        await actor.advance(0.999)
        assert actor.session.stream.latest == rows
        await actor.advance(0.001)
        assert actor.matches("b")


async def test_functions_go_on_as_far_as_they_can_before_time_moves() -> None:
    chart = parse_chart("""
statechart:
  name: c
  root state:
    name: c
    initial: a
    states:
      - name: a
        invoke: {id: job, src: job, on done: b, on error: late}
        after: {1s: late}
      - {name: b}
      - {name: late}
""")

    async def job(input: Any) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    bindings = Bindings()
    bindings.add("actor", "job", job)
    async with Actor(chart, bindings, clock=SimulatedClock()) as actor:
        await actor.advance(5)
        assert actor.matches("b")


async def test_only_a_simulated_clock_can_be_moved() -> None:
    chart = parse_chart(PULSE.format(name="c", delay="1s"))
    async with Actor(chart, clock=WallClock()) as actor:
        with pytest.raises(TypeError, match="needs a SimulatedClock"):
            await actor.advance(1)


async def test_on_the_wall_clock_time_passes_by_itself() -> None:
    chart = parse_chart(PULSE.format(name="c", delay="10ms"))
    pulses = asyncio.Event()
    async with Actor(chart) as actor:
        actor.on_emit(lambda event, data: pulses.set())
        await asyncio.wait_for(pulses.wait(), 180)


async def test_an_actor_that_was_not_started_is_settled() -> None:
    actor = Actor(parse_chart(PULSE.format(name="c", delay="1s")), clock=SimulatedClock())
    actor.send("X")
    await asyncio.wait_for(actor.settle(), 180)
