"""Functions of a program may raise anything, also what is no Exception: nobody who waits for the actor hangs, and
nothing passes in silence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rawko import Actor, Bindings, immediate, parse_chart
from rawko.runtime import ActorCrashed, MemoryJournal, SubscriberFailed

CHART = parse_chart("""
statechart:
  name: c
  root state:
    name: c
    initial: a
    states:
      - name: a
        transitions: [{event: GO, guard: allows, target: b, action: moves}]
        on exit: leaves
      - name: b
        on entry: enters
        invoke: {id: job, src: job, input: given, on done: {target: over, action: keeps}, on error: lost}
      - {name: over, type: final}
      - {name: lost}
""")


class Unusual(BaseException):
    """As pytest's own `Failed`, or trio's `Cancelled`."""


RAISED = [Unusual("no"), asyncio.CancelledError("no"), GeneratorExit("no")]
PLACES = ["allows", "leaves", "moves", "enters", "given", "keeps"]


def bindings_of(place: str, raised: BaseException) -> Bindings:
    def called(name: str, result: Any) -> Any:
        def function(*arguments: Any) -> Any:
            if name == place:
                raise raised
            return result

        return function

    async def job(input: Any) -> None:
        called("job", None)()

    bindings = Bindings()
    bindings.add("guard", "allows", called("allows", True))
    for action in ("leaves", "moves", "enters", "keeps"):
        bindings.add("action", action, called(action, None))
    bindings.add("input", "given", called("given", {}))
    bindings.add("actor", "job", immediate(called("now", None)) if place == "now" else job)
    return bindings


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", PLACES)
async def test_the_actor_crashes_with_it_and_can_be_resumed(place: str, raised: BaseException) -> None:
    journal = MemoryJournal()
    with pytest.raises(ActorCrashed, match="no") as caught:
        async with Actor(CHART, bindings_of(place, raised), journal=journal, id="r") as actor:
            actor.send("GO")
            await actor.wait_for("over", timeout_s=60)
    assert caught.value.error is raised and actor.is_ended
    async with Actor.resume("r", CHART, bindings_of("", raised), journal=journal) as actor:
        actor.send("GO")
        await actor.wait_for("over", timeout_s=60)


@pytest.mark.parametrize("raised", RAISED)
async def test_it_is_raised_at_the_end_if_nobody_has_waited(raised: BaseException) -> None:
    with pytest.raises(ActorCrashed, match="no"):
        async with Actor(CHART, bindings_of("moves", raised)) as actor:
            actor.send("GO")
            await actor.until_idle()


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", ["job", "now"])
async def test_an_invoked_function_has_failed(place: str, raised: BaseException) -> None:
    async with Actor(CHART, bindings_of(place, raised)) as actor:
        actor.send("GO")
        await actor.wait_for("lost", timeout_s=60)


@pytest.mark.parametrize("raised", RAISED)
async def test_a_subscriber_ends_the_actor_and_an_observer_does_not(raised: BaseException) -> None:
    def listen(*news: Any) -> None:
        raise raised

    async with Actor(CHART, bindings_of("", raised), log=lambda *line: None) as actor:
        actor.inspect(listen)
        actor.send("GO")
        await actor.wait_for("over", timeout_s=60)
    actor = Actor(CHART, bindings_of("", raised))
    actor.subscribe(listen)
    with pytest.raises(ActorCrashed, match="no") as caught:
        await actor.run()
    assert isinstance(caught.value.error, SubscriberFailed)


@pytest.mark.parametrize("raised", [*RAISED, StopIteration("no")])
async def test_a_condition_is_the_concern_of_who_waits_for_it(raised: BaseException) -> None:
    def holds(actor: Actor) -> bool:
        if actor.matches("over"):
            raise raised
        return False

    async with Actor(CHART, bindings_of("", raised)) as actor:
        waiting = asyncio.ensure_future(actor.wait_for(holds))
        await asyncio.sleep(0)
        actor.send("GO")
        await actor.wait_for("over", timeout_s=60)
        (found,) = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(found, RuntimeError if isinstance(raised, StopIteration) else type(raised))


def test_an_interrupt_ends_the_program_and_the_actor_with_it() -> None:
    seen: list[Actor] = []

    async def main() -> None:
        async with Actor(CHART, bindings_of("moves", KeyboardInterrupt("no"))) as actor:
            seen.append(actor)
            actor.send("GO")
            await actor.wait_for("over")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert seen[0].is_ended and isinstance(seen[0].error, KeyboardInterrupt)
