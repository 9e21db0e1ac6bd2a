"""The pure parts: backoff, the conversation's rules, errors as data, the machine's input and output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.interpreter import Record, freeze, thaw
from rawko.machines.agent_loop import AgentLoopContext, agent_loop_input
from rawko.machines.agent_loop.backoff import backoff_ms
from rawko.machines.agent_loop.conversation.own_answers import immediate_answer
from rawko.machines.agent_loop.conversation.rules import (
    as_sent,
    calls_of,
    ends_in_call,
    last_words,
    text_of,
    unanswered,
    user_message,
)
from rawko.machines.agent_loop.error_contexts import (
    MESSAGE_CHARS,
    abridged,
    describe_call,
    iso,
    plan_step,
    reported_error,
    tool_error,
)
from rawko.vocabulary.agent import AgentConfig, Limits, ToolAccess
from rawko.vocabulary.messages import ToolCall, ToolResult, unpaired_calls
from rawko.vocabulary.plan import Plan, PlanStep

# ---------------------------------------------------------------- backoff (C-24, C-67)


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(0, 100_000), st.integers(), st.text())
def test_the_delay_never_exceeds_its_cap_and_never_falls_below_half(
    retries: int, base: int, cap: int, seed: int, key: str
) -> None:
    delay = backoff_ms(retries, base_ms=base, cap_ms=cap, seed=seed, key=key)
    full = min(cap, base * 2 ** min(retries - 1, 32))
    assert full // 2 <= delay <= full
    assert delay == backoff_ms(retries, base_ms=base, cap_ms=cap, seed=seed, key=key), "the seed settles it"


def test_the_delay_doubles_and_the_seed_spreads_it() -> None:
    bounds = [backoff_ms(n, base_ms=1000, cap_ms=60_000, seed=1) for n in range(1, 9)]
    assert all(500 * 2**n <= bound <= 1000 * 2**n for n, bound in enumerate(bounds[:6]))
    assert len({backoff_ms(1, base_ms=1000, cap_ms=60_000, seed=seed) for seed in range(20)}) > 15


def test_the_providers_own_wish_counts_where_it_is_longer() -> None:
    assert backoff_ms(1, base_ms=1000, cap_ms=60_000, seed=1, retry_after_ms=90_000) == 90_000
    assert backoff_ms(1, base_ms=1000, cap_ms=60_000, seed=1, retry_after_ms=10**14) == 600_000
    assert backoff_ms(5, base_ms=1000, cap_ms=60_000, seed=1, retry_after_ms=1) >= 8_000


# ---------------------------------------------------------------- conversation


def said(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


TEXT = {"type": "text", "text": "hi"}
USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"a": [1, {"b": 2}]}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
THINKING = {"type": "thinking", "thinking": "...", "signature": "s=="}


def test_adjacent_user_messages_are_sent_as_one_and_assistant_messages_verbatim() -> None:
    messages = [said("user", TEXT), said("assistant", THINKING, USE), said("user", RESULT), said("user", TEXT)]
    sent = as_sent(freeze(messages))
    assert [message.role for message in sent] == ["user", "assistant", "user"]
    assert sent[1].to_json()["content"] == [THINKING, USE]
    assert sent[2].to_json()["content"] == [RESULT, TEXT]
    again = [said("assistant", TEXT), said("assistant", TEXT)]
    assert len(as_sent(again)) == 2


def test_reading_a_message() -> None:
    message = freeze(said("assistant", TEXT, USE, TEXT))
    assert text_of(message) == "hihi"
    (call,) = calls_of(message)
    assert (call.id, call.name, call.input) == ("c1", "bash", {"a": [1, {"b": 2}]})
    assert not ends_in_call(message)
    assert ends_in_call(said("assistant", TEXT, USE))
    assert not ends_in_call(said("assistant"))


def test_what_is_unanswered_is_asked_of_the_last_message_alone() -> None:
    assert unanswered([]) == []
    assert unanswered([said("assistant", USE)]) == ["c1"]
    assert unanswered([said("assistant", USE), said("user", RESULT)]) == []


def test_a_user_message_has_results_first_and_is_nothing_without_content() -> None:
    message = user_message(
        [ToolResult(call_id="c1", content="ok"), {"call_id": "c2", "content": "", "is_error": True}], "x"
    )
    assert message is not None
    assert [block["type"] for block in message["content"]] == ["tool_result", "tool_result", "text"]
    assert message["content"][1]["is_error"] is True
    assert user_message([]) is None


def test_last_words_are_this_runs() -> None:
    messages = [said("assistant", {"type": "text", "text": "old"}), said("user", TEXT), said("assistant", USE)]
    assert last_words(messages) == "old"
    assert last_words(messages, 1) == ""


# ---------------------------------------------------------------- errors as data


def context(**fields: Any) -> Any:
    return freeze(AgentLoopContext.model_validate(fields).to_json())


def test_times_are_iso_in_utc() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"


def test_the_plans_step_counts_from_1_and_is_none_past_the_end() -> None:
    steps = [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]
    assert plan_step(context()) is None
    assert plan_step(context(plan={"steps": steps, "current_step_index": 1})) == 2
    assert plan_step(context(plan={"steps": steps, "current_step_index": 2})) is None


@pytest.mark.parametrize(
    ("is_complete", "position"),
    [([], "now at step 1"), ([1], "now at step 2"), ([1, 2], "all steps done"), ([2], "now at step 1")],
)
def test_the_answer_to_a_plan_says_where_it_stands(is_complete: list[int], position: str) -> None:
    given: dict[str, Any] = {"steps": [{"description": "a"}, {"description": "b"}]}
    if is_complete:
        given["step_updates"] = [{"index": place, "status": "complete"} for place in is_complete]
    call = ToolCall(id="c1", name="update_plan", input=given)
    answer = immediate_answer(context(pending_calls=[{"call": call.to_json()}], can_update_plan=True))
    assert answer is not None
    assert answer.result.content == f"Plan updated: {len(is_complete)} of 2 steps finished, {position}."


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            {"message": "slow", "category": "provider_error", "code": "rate_limited", "retry_after_ms": 5},
            {"category": "provider_error", "code": "rate_limited", "retry_after_ms": 5, "message": "slow"},
        ),
        ({"message": "odd", "category": "weird"}, {"category": "unknown", "message": "odd"}),
        ({}, {"category": "unknown", "message": "unknown error"}),
        ({"message": "x", "usage": {}, "more": 1}, {"category": "unknown", "message": "x"}),
        ({"message": "x", "agent": "other", "attempted": "y"}, {"agent": "other", "attempted": "y"}),
    ],
)
def test_what_an_actor_reports_is_completed_or_unknown(error: dict[str, Any], expected: dict[str, Any]) -> None:
    found = reported_error(context(agent="dev"), 0, freeze(error), attempted="a turn").to_json()
    assert found["timestamp"] == "1970-01-01T00:00:00.000Z"
    assert {"agent": "dev", "attempted": "a turn", **expected}.items() <= found.items()


def test_a_tools_error_says_what_was_tried() -> None:
    entry = {
        "call": {"id": "c", "name": "edit", "input": {"file_path": "a.py", "old_string": "x" * 500}},
        "result": {"call_id": "c", "content": "not found", "is_error": True},
        "is_denied": False,
    }
    error = tool_error(context(agent="dev"), 0, freeze(entry), "words")
    assert (error.category, error.tool, error.message) == ("tool_failure", "edit", "words")
    assert error.context.files_accessed == ("a.py",)
    assert error.context.output_size == 9
    assert len(error.attempted) == 200
    assert tool_error(context(), 0, {**entry, "is_denied": True}, "w").category == "permission_error"
    assert describe_call({"name": "read", "input": {"p": "é"}}) == 'read {"p": "é"}'


def test_a_flood_of_words_is_cut_in_the_middle_and_keeps_its_end() -> None:
    assert abridged("short") == "short"
    text = "begin" + "x" * 100_000 + "the error"
    assert len(abridged(text)) == MESSAGE_CHARS + len(" ... ")
    assert abridged(text).startswith("begin") and abridged(text).endswith("the error")


# ---------------------------------------------------------------- input


def test_the_input_of_a_run_comes_from_the_agents_configuration() -> None:
    config = AgentConfig(
        name="reviewer",
        when_to_use="w",
        system_prompt="s",
        tools=ToolAccess(allowed=("read",)),
        limits=Limits(turns=3),
    )
    plan = Plan(steps=(PlanStep(index=1, description="a"),))
    given = agent_loop_input(config, "Look", messages=[said("user", TEXT)], plan=plan, seed=5)
    model = AgentLoopContext.model_validate(given)
    assert (model.agent, model.limits.turns, model.can_update_plan, model.seed) == ("reviewer", 3, False, 5)
    assert model.plan == plan


def test_the_context_is_json_and_comes_back_as_it_was() -> None:
    whole = AgentLoopContext(prompt="x").to_json()
    assert AgentLoopContext.model_validate(whole).to_json() == whole == thaw(freeze(whole))
    assert isinstance(freeze(whole), Record)
    assert not list(unpaired_calls(whole["messages"]))
