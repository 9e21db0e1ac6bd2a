"""What a run does just now, folded from the events of its inspection stream."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.app.following.activity import MAX_TAIL_CHARS, Activity, Doing, after


def step(*effects: dict[str, Any], actor: str = "root", time: float = 5.0, **fields: Any) -> dict[str, Any]:
    given = {"configuration": ["rawko"], "updates": (), "effects": effects, "event": None, **fields}
    return {"seq": 1, "type": "step", "actor": actor, "time": time, **given}


def start(src: str) -> dict[str, Any]:
    return {"type": "start", "id": src, "src": src}


def emit(event: str, time: float = 5.0, **data: Any) -> dict[str, Any]:
    return {"seq": 1, "type": "emit", "actor": "root/agent", "time": time, "event": event, "data": data}


@pytest.mark.parametrize(
    ("src", "doing"),
    [
        ("arbiter_select_agent", Doing.ARBITER),
        ("arbiter_evaluate", Doing.ARBITER),
        ("stream_agent", Doing.MODEL),
        ("summarise", Doing.MODEL),
        ("execute_tool", Doing.TOOL),
        ("ask_person", Doing.PERSON),
        ("capture_snapshot", Doing.WORKSPACE),
        ("check_gate", Doing.MODEL),
    ],
)
def test_what_is_invoked_says_what_is_done(src: str, doing: Doing) -> None:
    before = Activity(doing=Doing.MODEL, since=1.0, thinking="hm", output="x", is_silent=False)
    found = after(before, step(start(src), actor="root/agent"))
    assert found.doing is doing
    if src == "check_gate":
        assert found == before
    else:
        assert (found.since, found.is_silent, found.thinking, found.output) == (5.0, True, "", "")


def test_a_tool_call_is_named_once_it_runs() -> None:
    call = {"id": "c", "name": "bash", "input": {"command": "make test"}}
    told = after(Activity(doing=Doing.MODEL), emit("AGENT_TOOL_CALL", tool_call=call))
    assert (told.doing, told.call) == (Doing.MODEL, "bash make test")
    assert after(told, step(start("execute_tool"))).words == "bash make test"


def test_text_and_thinking_end_the_silence() -> None:
    activity = Activity(doing=Doing.MODEL, since=1.0)
    thinking = after(activity, emit("THINKING_DELTA", text="one "))
    thinking = after(thinking, emit("THINKING_DELTA", text="two"))
    assert (thinking.is_silent, thinking.thinking, thinking.since) == (False, "one two", 1.0)
    assert after(activity, emit("TEXT_DELTA", text="Hello")).is_silent is False
    for _ in range(100):
        thinking = after(thinking, emit("THINKING_DELTA", text="x" * 100))
    assert len(thinking.thinking) == MAX_TAIL_CHARS


def test_a_commands_output_is_its_end() -> None:
    found = after(Activity(doing=Doing.TOOL), emit("TOOL_OUTPUT", agent="a", id="c", tail="y" * 5000, bytes=90_000))
    assert (len(found.output), found.output_bytes) == (MAX_TAIL_CHARS, 90_000)


def test_the_root_says_who_works_and_which_iteration() -> None:
    found = after(Activity(), emit("AGENT_SELECTED", agent="tester"))
    found = after(found, step(updates=[{"assign": {"iteration_count": 3}}], configuration=["rawko", "executing"]))
    assert (found.agent, found.iteration, found.states) == ("tester", 3, ("executing",))
    child = step(actor="root/agent", updates=[{"assign": {"iteration_count": 9}}])
    assert after(found, child) == found


def test_a_delay_begins_once() -> None:
    waiting = after(Activity(), step(configuration=["rawko", "backing_off"], time=7.0))
    assert (waiting.doing, waiting.since) == (Doing.DELAY, 7.0)
    assert after(waiting, step(configuration=["rawko", "backing_off"], time=9.0)).since == 7.0
    assert after(waiting, emit("RATE_WAIT", what="requests", limit=1, wait_ms=5)).words == "rate limit: requests"


def test_the_end_and_what_is_unknown() -> None:
    activity = Activity(doing=Doing.MODEL)
    assert after(activity, {"seq": 1, "type": "done", "actor": "root", "time": 9.0}).doing is Doing.ENDED
    assert after(activity, {"seq": 1, "type": "done", "actor": "root/agent", "time": 9.0}) == activity
    assert after(activity, emit("SOMETHING_NEW", x=1)) == activity
    assert after(activity, {"seq": 1, "type": "log", "actor": "root", "time": 9.0}) == activity
