"""The inspection stream: numbered, from any number on; observers change nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime import Actor, ChildMachine, child_machine
from rawko.runtime.inspection import InspectionStream
from rawko.runtime.session import Session

KID = parse_chart("""
statechart:
  name: kid
  root state:
    name: kid
    initial: a
    output: {n: 1}
    states:
      - {name: a, on entry: [{emit: {event: HELLO, data: {n: 1}}}, {log: a kid}], always: b}
      - {name: b, type: final}
""")
PARENT = parse_chart("""
statechart:
  name: parent
  root state:
    name: parent
    initial: on
    states:
      - {name: on, invoke: {id: kid, src: kid, on done: over, on error: over}}
      - {name: over, type: final}
""")


def family(**options: Any) -> Actor:
    bindings = Bindings()
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(KID, Bindings(), {})))
    return Actor(PARENT, bindings, clock=SimulatedClock(), **options)


async def test_the_story_of_a_tree_is_one_numbered_stream_of_json() -> None:
    told: list[Any] = []
    logged: list[Any] = []
    actor = family(id="r", log=lambda *line: logged.append(line))
    actor.inspect(told.append)
    await actor.run()
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert [(event["type"], event["actor"]) for event in told] == [
        ("actor", "root"),
        ("step", "root"),
        ("actor", "root/kid"),
        ("step", "root/kid"),
        ("emit", "root/kid"),
        ("log", "root/kid"),
        ("done", "root/kid"),
        ("step", "root"),
        ("done", "root"),
    ]
    assert json.loads(json.dumps(told)) == json.loads(json.dumps(told, default=None))
    steps = [event for event in told if event["type"] == "step"]
    assert [step["row"] for step in steps] == [1, 2, 3]
    assert list(steps[2]["transitions"][0]) == ["on", "over", "done.invoke.kid"]
    assert PARENT.transitions[steps[2]["indexes"][0]].targets == ("over",)
    assert logged == [("info", "a kid", {"run": "r", "actor": "root/kid"})]


async def test_a_late_consumer_follows_from_any_number_to_the_end() -> None:
    actor = family(log=lambda *line: None)
    whole: list[Any] = []
    actor.inspect(whole.append)

    async def follow(seq: int) -> list[Any]:
        return [event async for event in actor.session.stream.follow(seq)]

    early = asyncio.create_task(follow(0))
    await actor.run()
    assert await early == whole
    for seq in range(len(whole) + 1):
        assert await asyncio.wait_for(follow(seq), 180) == whole[seq:]


def test_events_that_are_no_longer_kept_are_not_passed_over_in_silence() -> None:
    stream = InspectionStream(kept=3)
    for _ in range(5):
        stream.publish("log", "root", 0.0)
    assert [event["seq"] for event in stream.since(2)] == [3, 4, 5]
    assert stream.since(5) == []
    with pytest.raises(LookupError, match="ask from 3"):
        stream.since(1)


async def test_observers_that_raise_are_dropped_and_the_run_goes_on() -> None:
    logged: list[str] = []
    calls: list[str] = []

    def broken(*news: Any) -> None:
        calls.append("broken")
        raise ValueError("not my day")

    actor = family(log=lambda level, message, data: logged.append(f"{level}: {message}"))
    actor.inspect(broken)
    actor.inspect(lambda event: broken(event))
    assert await actor.run() is None
    assert calls == ["broken", "broken"], "each was told once"
    assert len([line for line in logged if line.startswith("error: observer") and "not my day" in line]) == 2


async def test_a_log_writer_that_raises_does_not_stop_the_run() -> None:
    def full(level: str, message: str, data: Any) -> None:
        raise OSError("disk full")

    actor = family(log=full)
    told: list[Any] = []
    actor.inspect(told.append)
    await actor.run()
    assert any("disk full" in event.get("message", "") for event in told)


async def test_an_observer_can_leave() -> None:
    actor = family(log=lambda *line: None)
    heard: list[Any] = []
    leave = [actor.inspect(heard.append), actor.subscribe(heard.append), actor.on_emit(lambda *e: heard.append(e))]
    for end in leave:
        end()
        end()
    await actor.run()
    assert heard == []


async def test_a_session_may_remember_nothing() -> None:
    """Whoever listens is told all the same; nothing is there for those who come late, and nothing can be resumed."""
    chart, bindings = parse_chart(FORGETFUL), Bindings()
    lines: list[str] = []
    session = Session(run="r", kept=0, log=lambda level, message, data: lines.append(message))
    seen: list[str] = []
    async with Actor(chart, bindings, session=session) as actor:
        await actor.request("TICK")
        before = session.stream.latest
        listening = actor.inspect(lambda event: seen.append(event["type"]))
        await actor.request("TICK")
        listening()
        await actor.request("TICK")
        assert session.stream.latest > before, "what nobody hears is counted"
        assert actor.matches("b")
    assert seen == ["step", "emit", "log"]
    assert lines == ["ticked"] * 3
    assert session.stream.since(session.stream.latest) == []
    assert await session.journal.last_seq("r") == 0


FORGETFUL = """
statechart:
  name: forgetful
  root state:
    name: forgetful
    initial: a
    states:
      - name: a
        transitions: [{event: TICK, target: b, action: [{emit: {event: TICKED}}, {log: ticked}]}]
      - name: b
        transitions: [{event: TICK, target: a, action: [{emit: {event: TICKED}}, {log: ticked}]}]
"""
