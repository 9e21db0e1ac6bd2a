"""wait_for, request, crashes: everybody who waits is told what became of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings, NotJsonError, Receipt, SnapshotError
from rawko.runtime import Actor, ActorCrashed, ActorStopped, WaitTimeout

CHART = parse_chart("""
statechart:
  name: door
  events: {KNOCK: {}}
  root state:
    name: door
    initial: closed
    states:
      - name: closed
        tags: [quiet]
        transitions:
          - {event: OPEN, guard: is_unlocked, target: opened}
          - {event: KICK, action: kick}
          - {event: SLAM, target: passing}
      - name: opened
        tags: [noisy]
        transitions: [{event: CLOSE, target: closed}, {event: LEAVE, target: gone}]
      - name: passing
        transitions: [{event: ON, target: gone}]
      - {name: gone, type: final}
""")


def door(*, is_locked: bool = False, chart: Any = CHART) -> Actor:
    bindings = Bindings()

    @bindings.guard
    def is_unlocked(context: Any, event: Any) -> bool:
        return not is_locked

    @bindings.action
    def kick(context: Any, event: Any) -> Any:
        raise RuntimeError("splinters")

    return Actor(chart, bindings)


async def test_states_tags_and_conditions_can_be_waited_for() -> None:
    async with door() as actor:
        await actor.wait_for("closed", timeout_s=60)
        await actor.wait_for(tag="quiet", timeout_s=60)
        opened = asyncio.create_task(actor.wait_for("opened"))
        noisy = asyncio.create_task(actor.wait_for(tag="noisy"))
        both = asyncio.create_task(actor.wait_for(lambda a: a.has_tag("noisy") and a.matches("opened")))
        actor.send("OPEN")
        await asyncio.gather(opened, noisy, both)
        actor.send("LEAVE")
        await actor.wait_for(timeout_s=60)
        assert actor.interpreter.final


async def test_what_came_about_is_not_taken_back_by_what_came_after() -> None:
    """Both events are processed before the waiter gets its turn."""
    async with door() as actor:
        passing = asyncio.create_task(actor.wait_for("passing"))
        await actor.settle()
        actor.send("SLAM")
        actor.send("ON")
        await passing
        assert actor.matches("gone")


async def test_a_wait_that_takes_too_long_says_where_the_actor_is() -> None:
    async with door() as actor:
        await actor.settle()
        with pytest.raises(
            WaitTimeout, match=r"state 'opened' did not come about within 0.01 s; it is in \{door, closed"
        ) as e:
            await actor.wait_for("opened", timeout_s=0.01)
        assert e.value.configuration == ("door", "closed")
        assert isinstance(e.value, TimeoutError)


@pytest.mark.parametrize(
    ("wanted", "said"), [({"state": "opend"}, "did you mean 'opened'"), ({"tag": "nosy"}, "did you mean 'noisy'")]
)
async def test_what_cannot_come_about_is_refused_at_once(wanted: dict[str, Any], said: str) -> None:
    async with door() as actor:
        with pytest.raises(ValueError, match=said):
            await actor.wait_for(**wanted)


async def test_a_condition_that_raises_raises_for_its_waiter_alone() -> None:
    async with door() as actor:
        await actor.settle()
        seen: list[int] = []

        def broken(actor: Actor) -> bool:
            seen.append(1)
            if len(seen) > 1:
                raise LookupError("my own fault")
            return False

        waiting = asyncio.create_task(actor.wait_for(broken))
        await asyncio.sleep(0)
        actor.send("OPEN")
        with pytest.raises(LookupError, match="my own fault"):
            await waiting
        await actor.wait_for("opened", timeout_s=60)


async def test_waiting_for_an_actor_that_ends_is_told_how_it_ended() -> None:
    actor = door()
    async with actor:
        await actor.settle()
        waiting = asyncio.create_task(actor.wait_for("opened"))
        actor.send("SLAM")
        actor.send("ON")
        with pytest.raises(ActorStopped, match=r"ended in \{door, gone\} before state 'opened'"):
            await waiting
    with pytest.raises(ActorStopped):
        await actor.wait_for("opened")
    with pytest.raises(ActorStopped, match="before taking 'OPEN'"):
        await actor.request("OPEN")


async def test_a_crash_is_told_to_all_who_wait_and_keeps_its_cause() -> None:
    actor = door()
    async with actor:
        await actor.settle()
        tasks = [asyncio.create_task(actor.wait_for("opened")), asyncio.create_task(actor.request("KICK"))]
        for task in tasks:
            with pytest.raises(ActorCrashed, match="splinters") as caught:
                await task
            assert caught.value.__cause__ is caught.value.error
    assert actor.configuration == ("door", "closed"), "as before the event"
    with pytest.raises(ActorCrashed, match="splinters"):
        await actor.run()


async def test_a_crash_that_nobody_was_told_of_is_raised_at_the_end() -> None:
    with pytest.raises(ActorCrashed, match="splinters"):
        async with door() as actor:
            await actor.settle()
            actor.send("KICK")
            await actor.settle()


async def test_an_error_in_the_body_is_not_hidden_by_the_crash() -> None:
    with pytest.raises(ZeroDivisionError):
        async with door() as actor:
            actor.send("KICK")
            await actor.settle()
            raise ZeroDivisionError


async def test_a_crash_as_it_starts_is_a_crash() -> None:
    chart = parse_chart("statechart: {name: c, root state: {name: c, initial: a, on entry: kick, states: [{name: a}]}}")
    with pytest.raises(ActorCrashed, match="splinters"):
        await door(chart=chart).run()


@pytest.mark.parametrize(
    ("event", "is_locked", "receipt"),
    [
        ("OPEN", False, Receipt.TAKEN),
        ("OPEN", True, Receipt.DENIED),
        ("CLOSE", False, Receipt.NOT_HANDLED),
        ("KNOCK", False, Receipt.NOT_HANDLED),
        ("SING", False, Receipt.UNKNOWN),
    ],
)
async def test_a_request_is_answered_with_the_step_and_its_receipt(
    event: str, is_locked: bool, receipt: Receipt
) -> None:
    async with door(is_locked=is_locked) as actor:
        step = await actor.request(event)
        assert step.receipt is receipt
        assert step.configuration == actor.configuration


async def test_requests_are_answered_each_with_its_own_step() -> None:
    async with door() as actor:
        steps = await asyncio.gather(*(actor.request(name) for name in ("OPEN", "CLOSE", "OPEN")))
        assert [step.configuration[-1] for step in steps] == ["opened", "closed", "opened"]


async def test_what_is_no_json_is_refused_where_it_is_sent() -> None:
    async with door() as actor:
        with pytest.raises(NotJsonError, match=r"OPEN\.how"):
            actor.send("OPEN", how=object())
        with pytest.raises(NotJsonError):
            await actor.request("OPEN", how={1: 2})


async def test_what_is_sent_to_an_actor_that_has_ended_is_told_to_observers() -> None:
    actor = door()
    async with actor:
        await actor.settle()
    actor.send("OPEN")
    assert actor.session.stream.since(0)[-1] | {"seq": 0, "time": 0} == {
        "seq": 0,
        "time": 0,
        "type": "undelivered",
        "actor": "root",
        "to": "root",
        "event": "OPEN",
        "reason": "the actor has ended",
    }


async def test_a_run_that_is_cancelled_stops_the_actor() -> None:
    actor = door()
    running = asyncio.create_task(actor.run())
    await actor.wait_for("closed", timeout_s=60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert actor.is_ended


async def test_a_snapshot_that_does_not_fit_is_a_crash_that_says_so() -> None:
    other = parse_chart("statechart: {name: c, root state: {name: c, initial: a, states: [{name: a}]}}")
    async with Actor(other) as actor:
        await actor.settle()
        snapshot = actor.snapshot()
    bindings = door().interpreter.bindings
    with pytest.raises(ActorCrashed, match="the chart has changed") as caught:
        await Actor(CHART, bindings, snapshot=snapshot).run()
    assert isinstance(caught.value.error, SnapshotError)


async def test_an_actor_rests_while_only_events_and_timers_can_move_it_on() -> None:
    chart = parse_chart("""
statechart:
  name: fetcher
  root state:
    name: fetcher
    initial: idle
    states:
      - {name: idle, transitions: [{event: GO, target: busy}], after: {10h: busy}}
      - {name: busy, invoke: {src: fetch, on done: idle}}
""")
    bindings, may_end = Bindings(), asyncio.Event()

    @bindings.actor
    async def fetch(input: Any) -> None:
        await may_end.wait()

    async with Actor(chart, bindings) as actor:
        await actor.until_idle(60)
        assert actor.is_at_rest
        assert actor.next_due() is not None
        await actor.request("GO")
        await actor.until_idle(60)
        assert (actor.is_idle, actor.is_at_rest) == (True, False)
        may_end.set()
        await actor.wait_for("idle", timeout_s=60)
        await actor.until_idle(60)
        assert actor.is_at_rest
