"""Child machines: messages both ways, output, failure, spawning, addresses, and the errors of sending."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings, append, assign, send, spawn, stop, thaw
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime import (
    Actor,
    ActorCrashed,
    ActorFailed,
    ChildMachine,
    MemoryJournal,
    Session,
    StepRecord,
    child_machine,
)

CHILD = parse_chart("""
statechart:
  name: kid
  root state:
    name: kid
    initial: waiting
    output: {answer: 42}
    states:
      - name: waiting
        transitions:
          - {event: ASK, action: {send: {event: TOLD, to: parent, data: {what: hello}}}}
          - {event: FINISH, target: over}
          - {event: BREAK, target: broken}
        after: {5s: over}
      - name: broken
        invoke: {id: fail, src: fail}
      - {name: over, type: final}
""")
PARENT = parse_chart("""
statechart:
  name: parent
  root state:
    name: parent
    initial: with_child
    states:
      - name: with_child
        invoke:
          id: kid
          src: kid
          on done: {target: done, action: keep}
          on error: {target: failed, action: keep_error}
        transitions:
          - {event: ASK, action: {send: {event: ASK, to: kid}}}
          - {event: FINISH, action: {send: {event: FINISH, to: kid}}}
          - {event: BREAK, action: {send: {event: BREAK, to: kid}}}
          - {event: TOLD, action: keep_told}
          - {event: LEAVE, target: alone}
          - {event: error.communication, action: keep_error}
      - {name: alone}
      - {name: done}
      - {name: failed}
""")


def child_bindings() -> Bindings:
    bindings = Bindings()

    @bindings.actor
    async def fail(input: Any) -> Any:
        raise ActorFailed({"category": "provider_error", "code": "billing", "message": "no money"})

    return bindings


def parent_bindings(output: Any = None) -> Bindings:
    bindings = Bindings()

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return assign(output=event.output)

    @bindings.action
    def keep_error(context: Any, event: Any) -> Any:
        return assign(error=event.error if "error" in event.data else event.data)

    @bindings.action
    def keep_told(context: Any, event: Any) -> Any:
        return append("told", event.what)

    @bindings.actor
    @child_machine
    def kid(input: Any) -> ChildMachine:
        return ChildMachine(CHILD, child_bindings(), {}, output)

    return bindings


def family(output: Any = None, **options: Any) -> Actor:
    given: dict[str, Any] = {"told": [], "output": None, "error": None}
    return Actor(PARENT, parent_bindings(output), input=given, clock=SimulatedClock(), **options)


async def test_messages_go_to_the_child_and_back() -> None:
    async with family() as actor:
        actor.send("ASK")
        actor.send("ASK")
        await actor.settle()
        assert list(actor.context["told"]) == ["hello", "hello"]


async def test_the_child_s_output_is_the_result() -> None:
    async with family() as actor:
        actor.send("FINISH")
        await actor.settle()
        assert actor.matches("done")
        assert thaw(actor.context["output"]) == {"answer": 42}
        assert actor.children == {}


async def test_an_output_can_be_turned_into_another_or_into_a_failure() -> None:
    def refuse(output: Any) -> Any:
        raise ActorFailed({"category": "unknown", "message": f"{output['answer']} is not enough"})

    async with family(lambda output: output["answer"] + 1) as actor:
        actor.send("FINISH")
        await actor.settle()
        assert actor.context["output"] == 43
    async with family(refuse) as actor:
        actor.send("FINISH")
        await actor.settle()
        assert actor.matches("failed")
        assert actor.context["error"]["message"] == "42 is not enough"


async def test_what_a_child_cannot_handle_reaches_its_parent_with_category_and_code() -> None:
    async with family() as actor:
        actor.send("BREAK")
        await actor.settle()
        assert actor.matches("failed")
        assert thaw(actor.context["error"]) == {
            "category": "provider_error",
            "code": "billing",
            "message": "no money",
        }


async def test_leaving_the_state_stops_the_child() -> None:
    async with family() as actor:
        await actor.settle()
        child = actor.children["kid"]
        assert child.path == "root/kid"
        actor.send("LEAVE")
        await actor.settle()
        assert child.is_ended
        assert child.configuration == ("kid", "waiting")
        assert actor.session.actors == {"root": actor}


async def test_a_stopped_child_takes_no_step_any_more() -> None:
    journal = MemoryJournal()
    actor = family(id="run-1", journal=journal)
    async with actor:
        await actor.settle()
        actor.send("ASK")  # the child is woken,
        actor.send("LEAVE")  # and stopped before its turn comes
        await actor.settle()
        assert actor.matches("alone") and not actor.children
    rows = await journal.rows("run-1")
    assert [(row.actor, row.event and row.event["name"]) for row in rows][-2:] == [("root", "ASK"), ("root", "LEAVE")]
    async with Actor.resume("run-1", PARENT, parent_bindings(), journal=journal, clock=SimulatedClock()) as again:
        assert again.matches("alone")


class YieldingJournal(MemoryJournal):
    """Lets others in the loop have their turn while it writes, as a database does."""

    async def append(self, record: StepRecord) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        await super().append(record)


async def test_a_child_that_is_stopped_before_it_has_begun_never_begins() -> None:
    journal = YieldingJournal()
    actor = family(id="run-1", journal=journal)
    actor.send("LEAVE")  # taken while the child waits for its turn to begin
    async with actor:
        await actor.settle()
    assert [row.actor for row in await journal.rows("run-1")] == ["root", "root"]


async def test_an_actor_whose_factory_failed_can_be_resumed() -> None:
    def no_machine(input: Any) -> ChildMachine:
        raise ActorFailed({"category": "unknown", "message": "no machine for that"})

    journal = MemoryJournal()
    bindings = parent_bindings().replaced("actor", {"kid": child_machine(no_machine)})
    given: dict[str, Any] = {"told": [], "output": None, "error": None}
    async with Actor(PARENT, bindings, input=given, clock=SimulatedClock(), id="run-1", journal=journal) as actor:
        await actor.settle()
        assert actor.matches("failed")
    async with Actor.resume("run-1", PARENT, bindings, journal=journal, clock=SimulatedClock()) as again:
        assert again.matches("failed") and again.context["error"]["message"] == "no machine for that"


async def test_a_simulated_clock_moves_the_whole_tree() -> None:
    async with family() as actor:
        await actor.advance(4.9)
        assert actor.matches("with_child")
        assert actor.next_due() == 5
        await actor.advance(0.1)
        assert actor.matches("done")


async def test_a_factory_that_fails_is_a_failure_of_the_invocation() -> None:
    bindings = parent_bindings()

    @child_machine
    def broken(input: Any) -> ChildMachine:
        raise LookupError("no such agent")

    actor = Actor(PARENT, bindings.replaced("actor", {"kid": broken}), input={"told": []})
    async with actor:
        await actor.wait_for("failed", timeout_s=60)
        assert "no such agent" in actor.context["error"]["message"]


# ---------------------------------------------------------------- spawning and addresses

HOST = parse_chart("""
statechart:
  name: host
  root state:
    name: host
    initial: on
    states:
      - name: on
        transitions:
          - {event: SPAWN, action: make}
          - {event: STOP, action: end}
          - {event: FINISH, action: {send: {event: FINISH, to: helper}}}
          - {event: CALL, action: call}
          - {event: done.invoke.helper, action: keep}
          - {event: error.communication, action: keep_error}
""")


def host_bindings() -> Bindings:
    bindings = parent_bindings()

    @bindings.action
    def make(context: Any, event: Any) -> Any:
        return spawn("kid", id="helper")

    @bindings.action
    def end(context: Any, event: Any) -> Any:
        return stop("helper")

    @bindings.action
    def call(context: Any, event: Any) -> Any:
        return send("HEARD", to=event.whom)

    return bindings


def host(**options: Any) -> Actor:
    return Actor(HOST, host_bindings(), input={"output": None, "error": None}, clock=SimulatedClock(), **options)


async def test_a_spawned_machine_lives_until_it_ends_or_is_stopped() -> None:
    async with host() as actor:
        actor.send("SPAWN")
        await actor.settle()
        assert set(actor.children) == {"helper"}
        actor.send("FINISH")
        await actor.settle()
        assert thaw(actor.context["output"]) == {"answer": 42}
        assert actor.children == {}
        actor.send("SPAWN")
        await actor.settle()
        second = actor.children["helper"]
        actor.send("STOP")
        await actor.settle()
        assert second.is_ended
        assert actor.children == {}


async def test_actors_of_one_session_find_each_other_by_system_id_and_by_path() -> None:
    session = Session()
    listener = parse_chart(
        "statechart: {name: ear, root state: {name: ear, initial: deaf, states: ["
        "{name: deaf, transitions: [{event: HEARD, target: hearing}]}, {name: hearing}]}}"
    )
    async with Actor(listener, session=session, system_id="ear", path="ear") as ear, host(session=session) as actor:
        await ear.settle()
        actor.send("CALL", whom="ear")
        await ear.wait_for("hearing", timeout_s=60)
        assert session.actors["root"] is actor


@pytest.mark.parametrize("whom", ["nobody", "helper", "root/helper"])
async def test_a_message_to_nobody_is_error_communication(whom: str) -> None:
    async with host() as actor:
        actor.send("CALL", whom=whom)
        await actor.settle()
        assert thaw(actor.context["error"]) == {
            "to": whom,
            "event": "HEARD",
            "message": f"no actor {whom!r} is running",
        }


async def test_a_machine_that_runs_on_its_own_has_no_parent_and_that_is_no_failure() -> None:
    async with host() as actor:
        actor.send("CALL", whom="parent")
        await actor.settle()
        assert actor.context["error"] is None
        assert [e["to"] for e in actor.session.stream.since(0) if e["type"] == "undelivered"] == ["parent"]


async def test_who_does_not_handle_error_communication_is_not_bothered_with_it() -> None:
    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, on entry: {send: {event: X, to: nobody}}, "
        "states: [{name: a}]}}"
    )
    async with Actor(chart) as actor:
        await actor.settle()
        events = actor.session.stream.since(0)
    assert [e["type"] for e in events] == ["actor", "step", "undelivered"]


async def test_a_child_whose_inbox_is_full_does_not_end_its_parent() -> None:
    chart = parse_chart("""
statechart:
  name: shouter
  root state:
    name: shouter
    initial: on
    states:
      - name: on
        transitions:
          - {event: SHOUT, action: {send: {event: NOISE, to: ear}}}
          - {event: error.communication, action: keep_error}
""")
    session = Session()
    quiet = parse_chart("statechart: {name: ear, root state: {name: ear, initial: a, states: [{name: a}]}}")
    ear = Actor(quiet, session=session, path="ear", inbox_limit=0)
    async with ear, Actor(chart, parent_bindings(), session=session, input={"error": None}) as actor:
        await ear.settle()
        actor.send("SHOUT")
        await actor.settle()
        assert "larger inbox_limit" in actor.context["error"]["message"]


async def test_a_crash_of_the_parent_ends_the_child() -> None:
    bindings = parent_bindings()

    def explode(context: Any, event: Any) -> Any:
        raise RuntimeError("boom")

    actor = Actor(PARENT, bindings.replaced("action", {"keep_told": explode}), input={"told": []})
    with pytest.raises(ActorCrashed, match="boom"):
        async with actor:
            await actor.settle()
            child = actor.children["kid"]
            actor.send("ASK")
            await actor.wait_for("done", timeout_s=60)
    assert child.is_ended


async def test_a_child_that_floods_its_parent_is_told_so() -> None:
    shouter = parse_chart("""
statechart:
  name: shouter
  root state:
    name: shouter
    initial: on
    states:
      - name: on
        on entry: [{send: {event: NOISE, to: parent}}, {send: {event: NOISE, to: parent}}]
        transitions: [{event: error.communication, target: hushed}]
      - {name: hushed, type: final}
""")
    listener = parse_chart("""
statechart:
  name: listener
  root state:
    name: listener
    initial: a
    states:
      - {name: a, invoke: {id: kid, src: kid, on done: hushed, on error: a}, transitions: [{event: NOISE}]}
      - {name: hushed}
""")
    bindings = Bindings()
    bindings.add("actor", "kid", child_machine(lambda input: ChildMachine(shouter, Bindings(), {})))
    async with Actor(listener, bindings, inbox_limit=1) as actor:
        await actor.wait_for("hushed", timeout_s=60)
        lost = [e for e in actor.session.stream.since(0) if e["type"] == "undelivered"]
    assert [(e["actor"], e["to"], e["event"]) for e in lost] == [("root/kid", "parent", "NOISE")]


CODE = """
statechart:
  name: coded
  preamble: ran = []
  root state:
    name: coded
    initial: over
    on entry: ran.append(1)
    output: {ran: true}
    states: [{name: over, type: final}]
"""


@pytest.mark.parametrize(("trust", "ended"), [({}, "failed"), ({"trusted": True}, "done")])
async def test_code_of_a_child_chart_runs_only_where_the_parent_trusts_it(trust: dict[str, Any], ended: str) -> None:
    bindings = Bindings()

    @bindings.actor
    @child_machine
    def coded(input: Any) -> ChildMachine:
        return ChildMachine(parse_chart(CODE, trusted=True), Bindings(), {}, **trust)

    parent = parse_chart(
        "statechart: {name: p, root state: {name: p, initial: a, states: ["
        "{name: a, invoke: {src: coded, on done: done, on error: failed}}, {name: done}, {name: failed}]}}"
    )
    async with Actor(parent, bindings, clock=SimulatedClock()) as actor:
        await actor.settle()
        assert actor.matches(ended)
