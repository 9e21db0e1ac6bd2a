"""Invoked functions and iterators: results, order, pace, stopping, timeouts, what comes too late."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rawko.chart import Chart, parse_chart
from rawko.interpreter import Bindings, Event, append, assign, thaw
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime import (
    Actor,
    ActorCrashed,
    ActorFailed,
    ChildMachine,
    Done,
    InboxFull,
    Scope,
    child_machine,
    immediate,
)

CHART = parse_chart("""
statechart:
  name: worker
  root state:
    name: worker
    initial: working
    transitions: [{event: TICK, action: keep_tick}]
    states:
      - name: working
        invoke:
          id: job
          src: job
          input: {x: 20}
          on done: {target: done, action: keep}
          on error: {target: failed, action: keep_error}
        transitions: [{event: LEAVE, target: away}]
      - name: away
        transitions: [{event: BACK, target: working}]
      - name: done
      - name: failed
""")


def bindings_with(job: Any) -> Bindings:
    bindings = Bindings()

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return assign(output=event.output)

    @bindings.action
    def keep_error(context: Any, event: Any) -> Any:
        return assign(error=event.error)

    @bindings.action
    def keep_tick(context: Any, event: Any) -> Any:
        return append("ticks", event.n)

    bindings.add("actor", "job", job)
    return bindings


def worker(job: Any, chart: Chart = CHART, **options: Any) -> Actor:
    return Actor(chart, bindings_with(job), input={"ticks": [], "output": None, "error": None}, **options)


async def test_a_function_s_result_is_the_output_of_done_invoke() -> None:
    async def job(input: Any) -> Any:
        await asyncio.sleep(0)
        return {"twice": input.x * 2}

    async with worker(job) as actor:
        await actor.wait_for("done", timeout_s=60)
        assert thaw(actor.context["output"]) == {"twice": 40}


@pytest.mark.parametrize(
    ("raised", "category", "said"),
    [
        (ActorFailed({"category": "tool_failure", "message": "broken"}), "tool_failure", "broken"),
        (ActorFailed("just a text"), "unknown", "just a text"),
        (ActorFailed({"category": "unknown", "message": object()}), "validation_error", "is not JSON"),
        (ValueError("bad"), "unknown", "ValueError: bad"),
        (TimeoutError("slow"), "timeout", "TimeoutError: slow"),
    ],
)
async def test_a_function_s_failure_is_the_error_of_error_invoke(raised: Exception, category: str, said: str) -> None:
    async def job(input: Any) -> Any:
        raise raised

    async with worker(job) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert actor.context["error"]["category"] == category
        assert said in actor.context["error"]["message"]


async def test_an_immediate_answer_takes_no_task() -> None:
    tasks: list[str] = []

    @immediate
    def job(input: Any) -> Any:
        tasks.extend(task.get_name() for task in asyncio.all_tasks())
        return {"twice": input.x * 2}

    async with worker(job) as actor:
        await actor.wait_for("done", timeout_s=60)
        assert thaw(actor.context["output"]) == {"twice": 40}
    assert "root/job#1" not in tasks


async def test_what_was_told_before_an_immediate_answer_comes_first() -> None:
    chart = parse_chart("""
statechart:
  name: asked
  root state:
    name: asked
    initial: idle
    states:
      - name: idle
        transitions: [{event: GO, target: asking, action: {emit: ASKS}}]
      - name: asking
        invoke: {id: job, src: job, on done: on}
        transitions: [{event: STOP, target: stopped}]
      - {name: on, type: final}
      - {name: stopped, type: final}
""")
    actor = worker(immediate(lambda input: None), chart)
    actor.on_emit(lambda event, data: actor.send("STOP"))
    async with actor:
        actor.send("GO")
        await asyncio.wait_for(actor.run(), 180)
        assert actor.matches("stopped")


@pytest.mark.parametrize("raised", [ValueError("bad"), asyncio.CancelledError("bad")])
async def test_an_immediate_failure_is_a_failure(raised: BaseException) -> None:
    @immediate
    def job(input: Any) -> Any:
        raise raised

    async with worker(job) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert actor.context["error"]["message"] == f"{type(raised).__name__}: bad"


async def test_an_immediate_answer_that_is_not_json_is_a_failure() -> None:
    async with worker(immediate(lambda input: object())) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert actor.context["error"]["category"] == "validation_error"


async def test_an_immediate_answer_waits_for_what_is_still_ending() -> None:
    log: list[str] = []
    may_end = asyncio.Event()

    async def slow(input: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            log.append("end")

    chart = parse_chart("""
statechart:
  name: two
  root state:
    name: two
    initial: first
    states:
      - name: first
        invoke: {id: slow, src: job}
        transitions: [{event: NEXT, target: second}]
      - name: second
        invoke: {id: quick, src: quick, on done: third}
      - name: third
""")
    bound = bindings_with(slow)
    bound.add("actor", "quick", immediate(lambda input: log.append("quick")))
    async with Actor(chart, bound) as actor:
        await actor.settle()
        actor.send("NEXT")
        await actor.settle()
        assert log == []
        may_end.set()
        await actor.wait_for("third", timeout_s=60)
        assert log == ["end", "quick"]


def test_what_takes_time_is_not_immediate() -> None:
    async def job(input: Any) -> Any:
        return None

    with pytest.raises(TypeError, match="job is async"):
        immediate(job)


async def test_a_result_that_is_not_json_is_a_failure() -> None:
    async def job(input: Any) -> Any:
        return {"file": object()}

    async with worker(job) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert actor.context["error"]["category"] == "validation_error"
        assert "file" in actor.context["error"]["message"]


async def test_an_actor_that_is_not_bound_is_a_failure_that_tells_the_names() -> None:
    bindings = bindings_with(None)
    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: ["
        "{name: a, invoke: {id: i, src: jop, on error: {target: b, action: keep_error}}}, {name: b}]}}"
    )
    async with Actor(chart, bindings) as actor:
        await actor.wait_for("b", timeout_s=60)
        assert "did you mean 'job'" in actor.context["error"]["message"]


async def test_a_function_that_cancels_itself_does_not_hang_its_machine() -> None:
    async def job(input: Any) -> Any:
        inner = asyncio.ensure_future(asyncio.sleep(60))
        inner.cancel()
        await inner

    async with worker(job) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert "CancelledError" in actor.context["error"]["message"]


async def test_an_iterator_s_events_arrive_in_order_before_its_output() -> None:
    """C-25."""

    async def job(input: Any, scope: Scope) -> AsyncIterator[Any]:
        for n in range(200):
            yield Event("TICK", n=n)
        yield Done("the end")

    async with worker(job) as actor:
        await actor.wait_for("done", timeout_s=60)
        assert list(actor.context["ticks"]) == list(range(200))
        assert actor.context["output"] == "the end"


async def test_an_iterator_is_held_back_while_the_machine_is_behind() -> None:
    yielded = 0

    async def job(input: Any) -> AsyncIterator[Any]:
        nonlocal yielded
        for n in range(100):
            yielded += 1
            yield Event("TICK", n=n)

    furthest = 0

    def look(step: Any) -> None:
        nonlocal furthest
        furthest = max(furthest, yielded - len(actor.context["ticks"]))

    actor = worker(job, inbox_limit=8)
    actor.subscribe(look)
    async with actor:
        await actor.wait_for("done", timeout_s=60)
    assert list(actor.context["ticks"]) == list(range(100))
    assert 1 < furthest <= 6, "at most half an inbox ahead, and the one in its hand"


@pytest.mark.parametrize("item", ["a text", None, {"name": "TICK"}])
async def test_an_iterator_yields_events_only(item: Any) -> None:
    async def job(input: Any) -> AsyncIterator[Any]:
        yield item

    async with worker(job) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert "accepted: Event, Done" in actor.context["error"]["message"]


async def test_an_event_that_is_not_json_is_the_iterator_s_failure_not_the_machine_s() -> None:
    async def job(input: Any) -> AsyncIterator[Any]:
        yield Event("TICK", n=object())

    async with worker(job) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert actor.context["error"]["category"] == "validation_error"


async def test_leaving_the_state_ends_the_iterator_and_nothing_of_it_is_heard_any_more() -> None:
    closed = asyncio.Event()
    tell: list[Scope] = []

    async def job(input: Any, scope: Scope) -> AsyncIterator[Any]:
        tell.append(scope)
        try:
            yield Event("TICK", n=1)
            await asyncio.Event().wait()
        finally:
            closed.set()

    emitted: list[str] = []
    async with worker(job) as actor:
        actor.on_emit(lambda event, data: emitted.append(event))
        await actor.wait_for(lambda a: len(a.context["ticks"]) == 1, timeout_s=60)
        actor.send("LEAVE")
        await actor.wait_for("away", timeout_s=60)
        await asyncio.wait_for(closed.wait(), 180)
        tell[0].send_parent("TICK", n=2)
        tell[0].emit("LATE")
        await actor.settle()
        assert list(actor.context["ticks"]) == [1]
        assert emitted == []


async def test_an_iterator_that_will_not_stop_is_not_listened_to() -> None:
    rounds = 0

    async def job(input: Any) -> AsyncIterator[Any]:
        nonlocal rounds
        while True:
            rounds += 1
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                pass
            yield Event("TICK", n=rounds)

    async with worker(job) as actor:
        await actor.wait_for(lambda a: len(a.context["ticks"]) >= 3, timeout_s=60)
        actor.send("LEAVE")
        await actor.wait_for("away", timeout_s=60)
    heard = len(actor.context["ticks"])
    assert rounds <= heard + 2, "it ended with the next thing it said"


async def test_a_late_result_of_an_earlier_invocation_is_dropped() -> None:
    """It swallows its cancellation and answers all the same; the machine is in the same state again by then."""
    answers = iter(["first", "second"])
    release = asyncio.Event()

    async def job(input: Any) -> Any:
        answer = next(answers)
        if answer == "second":
            await release.wait()
            return answer
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return answer

    async with worker(job) as actor:
        await actor.settle()
        actor.send("LEAVE")
        actor.send("BACK")
        await actor.settle()
        assert actor.matches("working")
        release.set()
        await actor.wait_for("done", timeout_s=60)
        assert actor.context["output"] == "second"


async def test_the_next_invocation_starts_when_the_stopped_one_has_really_ended() -> None:
    log: list[str] = []
    may_end = asyncio.Event()

    async def job(input: Any) -> Any:
        log.append("start")
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            log.append("end")

    async with worker(job) as actor:
        await actor.settle()
        actor.send("LEAVE")
        actor.send("BACK")
        await actor.settle()
        assert actor.matches("working")
        assert log == ["start"], "the first is still cleaning up"
        may_end.set()
        await actor.settle()
        assert log == ["start", "end", "start"]


async def test_a_timeout_stops_the_actor_and_is_told_as_its_error() -> None:
    ended = asyncio.Event()

    async def job(input: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    chart = parse_chart("""
statechart:
  name: hurried
  root state:
    name: hurried
    initial: working
    states:
      - {name: working, invoke: {id: job, src: job, timeout: 2s, on error: {target: failed, action: keep_error}}}
      - {name: failed}
""")
    async with worker(job, chart, clock=SimulatedClock()) as actor:
        await actor.advance(1.9)
        assert actor.matches("working")
        await actor.advance(0.2)
        assert actor.matches("failed")
        assert ended.is_set()
        assert actor.context["error"]["category"] == "timeout"


async def test_a_timeout_on_the_wall_clock_comes_about_by_itself() -> None:
    async def job(input: Any) -> Any:
        await asyncio.Event().wait()

    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: ["
        "{name: a, invoke: {id: job, src: job, timeout: 20ms, on error: b}}, {name: b}]}}"
    )
    async with worker(job, chart) as actor:
        await actor.wait_for("b", timeout_s=60)


async def test_a_failure_that_nobody_handles_ends_the_actor() -> None:
    async def job(input: Any) -> Any:
        raise ActorFailed({"category": "unknown", "message": "no way"})

    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: [{name: a, invoke: {id: job, src: job}}]}}"
    )
    actor = worker(job, chart)
    with pytest.raises(ActorCrashed, match=r"no active state handles 'error\.invoke\.job': no way"):
        await actor.run()
    assert actor.configuration == ("c", "a")


async def test_a_function_that_floods_its_machine_is_told_so() -> None:
    async def job(input: Any, scope: Scope) -> Any:
        for n in range(100):
            scope.send_parent("TICK", n=n)

    async with worker(job, inbox_limit=10) as actor:
        await actor.wait_for("failed", timeout_s=60)
        assert "InboxFull" in actor.context["error"]["message"]
        assert list(actor.context["ticks"]) == list(range(10))


async def test_the_inbox_is_bound() -> None:
    async def job(input: Any) -> Any:
        await asyncio.Event().wait()

    async with worker(job, inbox_limit=3) as actor:
        await actor.settle()
        for n in range(3):
            actor.send("TICK", n=n)
        with pytest.raises(InboxFull) as caught:
            actor.send("TICK", n=3)
        assert (caught.value.actor, caught.value.limit) == ("root", 3)
        await actor.settle()
        assert list(actor.context["ticks"]) == [0, 1, 2]


async def test_a_machine_that_always_has_something_to_do_still_hears_others() -> None:
    chart = parse_chart("""
statechart:
  name: busy
  root state:
    name: busy
    initial: spinning
    states:
      - name: spinning
        on entry: {send: SPIN}
        transitions: [{event: SPIN, action: {send: SPIN}}, {event: STOP, target: still}]
      - {name: still, type: final}
""")
    async with Actor(chart) as actor:
        await asyncio.sleep(0)
        actor.send("STOP")
        await asyncio.wait_for(actor.run(), 180)
        assert actor.matches("still")


async def test_stopping_the_actor_ends_what_it_invoked() -> None:
    ended: list[str] = []

    async def job(input: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("job")

    actor = worker(job)
    async with actor:
        await actor.settle()
    assert ended == ["job"]
    assert actor.is_ended
    assert actor.configuration == ("worker", "working"), "the machine keeps its state"


@pytest.mark.parametrize(("errors", "state"), [("scxml", "heard"), ("", "left")])
async def test_what_an_actor_said_while_it_ran_is_heard_after_its_state_was_left_as_in_scxml(
    errors: str, state: str
) -> None:
    chart = parse_chart(
        f"statechart: {{name: r, {'errors: scxml, ' if errors else ''}root state: {{name: r, initial: busy, states: ["
        "{name: busy, invoke: {src: job}, transitions: [{event: LEAVE, target: left}]},"
        " {name: left, transitions: [{event: SAID, target: heard}]}, {name: heard}]}}"
    )

    async def job(input: Any, scope: Scope) -> None:
        actor.send("LEAVE")
        scope.send_parent("SAID")
        await asyncio.sleep(3600)

    bindings = Bindings()
    bindings.add("actor", "job", job)
    async with Actor(chart, bindings) as actor:
        await actor.wait_for("left" if state == "left" else "heard", timeout_s=60)
        await actor.settle()
        assert actor.configuration == ("r", state)


@pytest.mark.parametrize("kind", ["function", "coroutine", "child"])
def test_an_actor_that_ends_the_process_is_not_reported_as_one_that_nobody_has_heard_of(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio raises SystemExit out of its loop, and would log "Task exception was never retrieved" as well."""

    def leave(*given: Any) -> Any:
        raise SystemExit(3)

    async def leave_later(given: Any) -> Any:
        await asyncio.sleep(0)
        raise SystemExit(3)

    inner = Bindings()
    inner.add("action", "leave", leave)
    chart = parse_chart(
        "statechart: {name: inner, root state: {name: inner, initial: a, states: [{name: a, on entry: leave}]}}"
    )
    child = child_machine(lambda given: ChildMachine(chart, inner, {}))
    job = {"function": leave, "coroutine": leave_later, "child": child}[kind]

    async def run() -> None:
        async with worker(job) as actor:
            await actor.wait_for("done", timeout_s=60)

    with pytest.raises(SystemExit):
        asyncio.run(run())
    gc.collect()
    assert not caplog.records
