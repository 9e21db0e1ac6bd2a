"""The commit order: step, journal, inspection, effects. What is not committed has not happened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings, SnapshotError
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime import Actor, ActorCrashed, ChildMachine, JournalError, MemoryJournal, StepRecord, child_machine
from rawko.runtime.actor_kinds import immediate
from rawko.runtime.replay.recorded import read_recorded
from rawko.runtime.replay.replay import replay
from rawko.runtime.session import CHECKPOINT_EVERY, Session

CHART = parse_chart("""
statechart:
  name: careful
  root state:
    name: careful
    initial: idle
    states:
      - name: idle
        transitions: [{event: GO, target: working, action: [{emit: WENT}, {log: going}]}]
      - name: working
        invoke: {id: job, src: job, on done: idle, on error: idle}
      - {name: over, type: final}
""")


class StubbornJournal(MemoryJournal):
    """A journal that refuses some appends, or holds them until it is let go."""

    def __init__(self, *, failing: Sequence[int] = (), is_retryable: bool = True) -> None:
        super().__init__()
        self.failing = set(failing)
        self.is_retryable = is_retryable
        self.gate: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.tries: list[int] = []
        self.tried_again = asyncio.Event()

    async def append(self, record: StepRecord) -> None:
        if record.seq in self.tries:
            self.tried_again.set()
        self.tries.append(record.seq)
        if self.gate is not None:
            self.reached.set()
            await self.gate.wait()
        if record.seq in self.failing:
            raise JournalError("disk full", is_retryable=self.is_retryable)
        await super().append(record)


def careful(journal: MemoryJournal, log: list[Any]) -> Actor:
    bindings = Bindings()

    @bindings.actor
    async def job(input: Any) -> Any:
        log.append("job started")
        await asyncio.Event().wait()

    actor = Actor(
        CHART, bindings, journal=journal, id="r", log=lambda level, message, data: log.append(f"log {message}")
    )
    actor.on_emit(lambda event, data: log.append(f"emit {event}"))
    actor.subscribe(lambda step: log.append(f"step {step.configuration[-1]}"))
    actor.inspect(lambda event: log.append("inspected") if event["type"] == "step" else None)
    return actor


async def test_nothing_is_seen_or_started_before_the_step_is_committed() -> None:
    journal, log = StubbornJournal(), list[Any]()
    async with careful(journal, log) as actor:
        await actor.settle()
        log.clear()
        journal.gate, journal.reached = asyncio.Event(), asyncio.Event()
        actor.send("GO")
        try:
            await asyncio.wait_for(journal.reached.wait(), 180)
            for _ in range(50):
                await asyncio.sleep(0)
            assert log == []
            with pytest.raises(SnapshotError, match="being committed"):
                actor.snapshot()
            waiting = asyncio.create_task(actor.take_snapshot())
            for _ in range(50):
                await asyncio.sleep(0)
            assert not waiting.done(), "it waits for the end of the step"
        finally:
            journal.gate.set()  # else the actor could not end, and a failed test would hang
        await actor.settle()
        assert log == ["inspected", "emit WENT", "log going", "step working", "job started"]
        assert (await waiting)["configuration"] == ["careful", "working"]


async def test_a_snapshot_is_refused_in_every_callback_but_a_subscriber_s_and_loses_nothing() -> None:
    bindings, refused, taken = Bindings(), set[str](), list[Any]()

    def ask(place: str) -> None:
        with pytest.raises(SnapshotError):
            actor.snapshot()
        refused.add(place)

    @bindings.actor
    @immediate
    def job(input: Any) -> Any:
        ask("actor")

    actor = Actor(CHART, bindings, log=lambda level, message, data: ask("log"))
    async with actor:
        await actor.settle()
        actor.on_emit(lambda event, data: ask("emit"))
        actor.subscribe(lambda step: taken.append(actor.snapshot()["configuration"]))
        actor.inspect(lambda event: ask(event["type"]) if event["type"] != "stopped" else None)
        actor.interpreter.attach(lambda event: ask(event.name))
        actor.send("GO")
        await actor.settle()
        assert actor.matches("idle")
        assert actor.snapshot()["configuration"] == ["careful", "idle"]
    assert taken[-1] == ["careful", "idle"], "all of the step has happened by then"
    assert refused >= {"actor", "log", "emit", "step", "step started", "event consumed", "step ended"}


async def test_a_journal_that_fails_stops_the_actor_and_starts_nothing() -> None:
    journal, log = StubbornJournal(failing=[2], is_retryable=False), list[Any]()
    actor = careful(journal, log)
    with pytest.raises(ActorCrashed, match="disk full"):
        async with actor:
            await actor.settle()
            log.clear()
            actor.send("GO")
            await actor.wait_for("working", timeout_s=60)
    assert log == []
    assert isinstance(actor.error, JournalError)
    assert journal.tries == [1, 2], "what can never succeed is not tried again"
    assert [row.seq for row in await journal.rows("r")] == [1]


async def test_a_commit_is_tried_again_before_anything_is_given_up() -> None:
    journal, log = StubbornJournal(failing=[2]), list[Any]()
    async with careful(journal, log) as actor:
        await actor.settle()
        actor.send("GO")
        await asyncio.wait_for(journal.tried_again.wait(), 180)
        assert not actor.session.stream.since(2)
        journal.failing.clear()
        await actor.wait_for("working", timeout_s=60)
        await actor.settle()
    assert [row.seq for row in await journal.rows("r")] == [1, 2]
    assert log.count("job started") == 1


async def test_a_writer_that_was_replaced_stops() -> None:
    journal, log = MemoryJournal(), list[Any]()
    actor = careful(journal, log)
    async with actor:
        await actor.settle()
        await journal.begin("r")
        actor.send("GO")
        with pytest.raises(ActorCrashed, match="another writer"):
            await actor.wait_for("working", timeout_s=60)
    assert "job started" not in log


async def test_rows_hold_what_changed_and_one_number_counts_the_whole_tree() -> None:
    parent = parse_chart("""
statechart:
  name: p
  root state:
    name: p
    initial: a
    states:
      - name: a
        invoke: {id: kid, src: kid, on done: {target: b, action: {assign: {seen: true}}}, on error: b}
      - {name: b, type: final}
""")
    kid = parse_chart("statechart: {name: k, root state: {name: k, initial: x, states: [{name: x, type: final}]}}")
    bindings = Bindings()
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(kid, Bindings(), {})))
    journal = MemoryJournal()
    await Actor(parent, bindings, input={"seen": False}, journal=journal, id="tree", clock=SimulatedClock()).run()
    rows = await journal.rows("tree")
    assert [(row.seq, row.actor) for row in rows] == [(1, "root"), (2, "root/kid"), (3, "root")]
    assert rows[2].event == {"name": "done.invoke.kid", "data": {"output": None}}
    assert rows[2].updates == ({"assign": {"seen": True}},)
    assert rows[2].configuration == ("p", "b")
    assert await journal.rows("tree", after=2) == (rows[2],)


async def test_a_journal_lost_to_a_child_stops_the_whole_run() -> None:
    """What a child cannot commit is no failure that its parent may shrug off."""
    kid = parse_chart("statechart: {name: k, root state: {name: k, initial: x, states: [{name: x}]}}")
    parent = parse_chart(
        "statechart: {name: p, root state: {name: p, initial: a, states: ["
        "{name: a, invoke: {id: kid, src: kid, on error: b}}, {name: b}]}}"
    )
    bindings = Bindings()
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(kid, Bindings(), {})))
    journal = StubbornJournal(failing=[2], is_retryable=False)
    actor = Actor(parent, bindings, journal=journal, id="r")
    with pytest.raises(ActorCrashed, match="disk full"):
        await actor.run()
    assert actor.configuration == ("p", "a")


async def test_a_run_that_is_taken_up_again_goes_on_with_the_next_row() -> None:
    journal = MemoryJournal()
    first, second = list[Any](), list[Any]()
    async with careful(journal, first) as actor:
        await actor.settle()
        snapshot = actor.snapshot()
    bindings = Bindings()
    bindings.add("actor", "job", lambda input: None)
    async with Actor(CHART, bindings, journal=journal, id="r", snapshot=snapshot) as again:
        again.subscribe(second.append)
        again.send("GO")
        await again.settle()
    rows = await journal.rows("r")
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert [row.epoch for row in rows] == [1] + [2] * (len(rows) - 1)
    assert len(rows) > 1


async def test_a_full_snapshot_is_kept_every_so_many_rows_whoever_wrote_them() -> None:
    kid = parse_chart("""
statechart:
  name: k
  root state:
    name: k
    initial: x
    states: [{name: x, on entry: {assign: {n: 0}}, transitions: [{event: TICK, action: {assign: {n: 1}}}]}]
""")
    parent = parse_chart(
        "statechart: {name: p, root state: {name: p, initial: a, states: [{name: a, invoke: "
        "{id: kid, src: kid, on error: a}}]}}"
    )
    bindings = Bindings()
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(kid, Bindings(), {"n": 0})))
    journal = MemoryJournal()
    async with Actor(parent, bindings, journal=journal, id="r") as actor:
        await actor.settle()
        assert await journal.last_checkpoint("r") is None
        for _ in range(CHECKPOINT_EVERY):
            actor.children["kid"].send("TICK")
        await actor.settle()
    checkpoint = await journal.last_checkpoint("r")
    assert checkpoint is not None
    seq, snapshot = checkpoint
    assert seq == CHECKPOINT_EVERY
    assert snapshot["children"]["kid"]["context"] == {"n": 1}


async def test_a_checkpoint_that_cannot_be_written_does_not_stop_the_run() -> None:
    class NoCheckpoints(MemoryJournal):
        async def checkpoint(self, run: str, seq: int, snapshot: dict[str, Any], *, epoch: int) -> None:
            raise JournalError("no room for that")

    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: [{name: a, transitions: [{event: T}]}]}}"
    )
    logged: list[str] = []
    journal = NoCheckpoints()
    async with Actor(chart, journal=journal, id="r", log=lambda level, text, data: logged.append(text)) as actor:
        for _ in range(CHECKPOINT_EVERY + 1):
            actor.send("T")
        await actor.settle()
    assert await journal.last_seq("r") == CHECKPOINT_EVERY + 2
    assert logged and "no room for that" in logged[0]


async def test_what_an_earlier_process_noted_is_in_the_checkpoint_of_the_next_one() -> None:
    """A checkpoint may be due before anything new is noted: it must not forget where a script or the cost stood."""
    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: [{name: a, transitions: [{event: T}], "
        "invoke: {id: job, src: job}}]}}"
    )
    bindings = Bindings()
    bindings.add("actor", "job", lambda given: 1)
    notes = {"position": 3}
    journal = MemoryJournal()
    async with Actor(chart, bindings, session=Session(run="r", journal=journal, notes=lambda: notes)) as actor:
        await actor.settle()
        for _ in range(CHECKPOINT_EVERY - 10):
            actor.send("T")
        await actor.settle()
    recorded = await read_recorded(journal, "r")
    assert (recorded.checkpoint, recorded.notes) == (None, notes)
    replayed = await replay(recorded, "r", chart, bindings)
    session = Session(run="r", journal=journal, notes=dict, recorded=recorded)
    async with Actor(chart, bindings, session=session, snapshot=replayed.snapshot) as actor:
        for _ in range(20):
            actor.send("T")
        await actor.settle()
    checkpoint = await journal.last_checkpoint("r")
    assert checkpoint is not None
    assert checkpoint[1]["notes"] == notes


async def test_a_checkpoint_between_the_return_of_a_parent_and_of_its_child_holds_both() -> None:
    """It is due with the very row that brings the parent back; the child comes back in a row of its own, later."""
    kid = parse_chart("""
statechart:
  name: k
  root state:
    name: k
    initial: x
    states:
      - name: x
        transitions: [{event: TICK, action: {assign: {n: 1}}}, {event: GO, target: y}]
      - name: y
        invoke: {id: job, src: job, on done: x}
""")
    parent = parse_chart(
        "statechart: {name: p, root state: {name: p, initial: a, states: [{name: a, invoke: "
        "{id: kid, src: kid, on restore: resume, on error: a}}]}}"
    )
    inner, bindings = Bindings(), Bindings()
    inner.add("actor", "job", _never_done)
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(kid, inner, {"n": 0})))
    journal = MemoryJournal()
    async with Actor(parent, bindings, journal=journal, id="r") as actor:
        await actor.settle()
        while await journal.last_seq("r") < CHECKPOINT_EVERY - 2:
            actor.children["kid"].send("TICK")
            await actor.settle()
        actor.children["kid"].send("GO")
        await actor.settle()
    recorded = await read_recorded(journal, "r")
    assert (recorded.checkpoint, recorded.last_seq) == (None, CHECKPOINT_EVERY - 1)
    replayed = await replay(recorded, "r", parent, bindings)
    session = Session(run="r", journal=journal, recorded=recorded)
    async with Actor(parent, bindings, session=session, snapshot=replayed.snapshot) as actor:
        await actor.settle()
        assert actor.children["kid"].configuration == ("k", "y")
    checkpoint = await journal.last_checkpoint("r")
    assert checkpoint is not None
    assert checkpoint[0] == CHECKPOINT_EVERY
    assert checkpoint[1]["children"]["kid"]["configuration"] == ["k", "y"]
    again = await replay(journal, "r", parent, bindings)
    assert again.snapshot is not None
    assert again.snapshot["children"]["kid"]["context"] == {"n": 1}


async def _never_done(given: Any) -> None:
    await asyncio.Event().wait()
