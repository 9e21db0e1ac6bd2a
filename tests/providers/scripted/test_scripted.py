"""The scripted provider: queues, order, expectations, delays, positions; and what it must not import."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario import Reply
from rawko.providers.scripted.scenario_file import parse_scenario
from rawko.providers.scripted.turn import deltas
from rawko.runtime.ports import ModelRequest, ProviderError, StopReason, ToolSpec
from rawko.vocabulary.messages import Message, ToolResult, assistant_text, tool_results, user_text

TWO_PURPOSES = """
scenario: two
replies:
  - {purpose: select, text: s1}
  - {purpose: "agent:developer", text: d1}
  - {purpose: select, text: s2}
  - {purpose: "agent:developer", text: d2, times: 2}
"""


def ask(purpose: str = "select", *messages: Message, **fields: Any) -> ModelRequest:
    request: dict[str, Any] = {"model": "m", "system": "", "messages": messages or (user_text("go"),)}
    return ModelRequest(purpose=purpose, **(request | fields))


def scripted(text: str, **options: Any) -> ScriptedProvider:
    return ScriptedProvider(parse_scenario(text, source="s.yaml"), **options)


async def says(provider: ScriptedProvider, purpose: str) -> str:
    return (await provider.create(ask(purpose))).message.text


async def failure(provider: ScriptedProvider, request: ModelRequest) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await provider.create(request)
    return caught.value


async def test_each_purpose_has_its_own_queue() -> None:
    provider = scripted(TWO_PURPOSES)
    order = ("agent:developer", "agent:developer", "select", "agent:developer", "select")
    assert [await says(provider, purpose) for purpose in order] == ["d1", "d2", "s1", "d2", "s2"]
    assert provider.unused() == ()


async def test_a_strict_order_refuses_another_purpose() -> None:
    provider = scripted(TWO_PURPOSES + "order: strict\n")
    await says(provider, "select")
    error = await failure(provider, ask("select"))
    assert error.code == "scenario"
    assert "the order is strict and next comes s.yaml:5: reply 2 for 'agent:developer'" in error.message
    for purpose in ("agent:developer", "select", "agent:developer", "agent:developer"):
        await says(provider, purpose)
    assert "all 5 replies are taken" in (await failure(provider, ask("select"))).message


async def test_an_unforeseen_request_says_what_came_and_what_was_next() -> None:
    error = await failure(scripted(TWO_PURPOSES), ask("evaluate", user_text("x" * 400 + "the end")))
    assert (error.code, error.category, error.status) == ("scenario", "provider_error", None)
    for part in ("'two'", "'evaluate'", "no reply is for", "s.yaml:4: reply 1 for 'select'", "xxx ... ", "the end'"):
        assert part in error.message
    assert len(error.message) < 800


async def test_replies_run_out() -> None:
    provider = scripted("{scenario: one, replies: [{purpose: select, text: only}]}")
    await says(provider, "select")
    error = await failure(provider, ask())
    assert "all 1 replies for 'select' are taken; no replies are left" in error.message


async def test_unused_replies_are_named_with_their_lines() -> None:
    provider = scripted(TWO_PURPOSES)
    for purpose in ("select", "agent:developer", "agent:developer"):
        await says(provider, purpose)
    assert provider.unused() == (
        "s.yaml:6: reply 3 for 'select'",
        "s.yaml:7: reply 4 for 'agent:developer'",
    )


READ = ToolSpec(name="read", description="", input_schema={"type": "object"})
FAILED = tool_results([ToolResult(call_id="t1", content="exit 1: FAILED", is_error=True)])
CALL = Message(role="assistant", content=({"type": "tool_use", "id": "t1", "name": "bash", "input": {}},))


@pytest.mark.parametrize(
    ("expect", "lacks"),
    [
        ("last_message: FAILED", ""),
        ("last_message: [exit 1, FAILED]", ""),
        ("last_message: [FAILED, passed]", "'passed' in the last message"),
        ("last_message: go", "'go' in the last message"),
        ("system: write code", ""),
        ("system: paint", "'paint' in the system prompt"),
        ("tools: read", ""),
        ("tools: [read, bash]", "tool 'bash' among those offered (read)"),
        ("tool_error: true", ""),
        ("tool_error: false", "no failed tool result"),
    ],
)
async def test_expectations(expect: str, lacks: str) -> None:
    provider = scripted(f"scenario: e\nreplies:\n  - purpose: select\n    text: fine\n    expect: {{{expect}}}\n")
    request = ask("select", user_text("go"), CALL, FAILED, system="You write code.", tools=(READ,))
    if not lacks:
        assert (await provider.create(request)).message.text == "fine"
        return
    error = await failure(provider, request)
    assert error.code == "scenario"
    assert f"s.yaml:3: reply 1 for 'select' expects {lacks}." in error.message
    assert provider.position()["taken"] == {}, "a refused reply is not taken"


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ((), "at least one message"),
        ((assistant_text("hi"),), "first message must use the user role"),
        ((Message(role="user", content=()),), "content must not be empty"),
        ((user_text("go"), CALL, user_text("and?")), "without tool_result blocks in the next message: t1"),
    ],
)
async def test_what_a_server_would_refuse_is_refused(messages: tuple[Message, ...], complaint: str) -> None:
    request = ModelRequest(purpose="select", model="m", system="", messages=messages)
    error = await failure(scripted(TWO_PURPOSES), request)
    assert (error.code, error.status) == ("invalid_request", 400)
    assert complaint in error.message


ANSWER = tool_results([ToolResult(call_id="t1", content="done")])
GO, MORE = user_text("go"), user_text("more")
CONVERSATIONS: list[tuple[Message, ...]] = [
    (GO,),
    (GO, CALL, ANSWER),
    (GO, CALL, ANSWER, CALL, ANSWER, MORE),
    (GO, CALL, ANSWER, CALL, MORE),
    (GO, CALL, ANSWER, CALL, MORE, user_text("again")),
    (GO, CALL),
    (GO, CALL, MORE),
    (user_text("a summary"), assistant_text("yes")),
    (),
]


@given(order=st.lists(st.sampled_from(range(len(CONVERSATIONS))), max_size=8))
def test_a_conversation_that_goes_on_is_judged_and_counted_as_a_new_one(order: list[int]) -> None:
    replies = "scenario: many\nreplies:\n  - {purpose: select, text: s, times: 20}\n"

    async def told(provider: ScriptedProvider, messages: tuple[Message, ...]) -> object:
        try:
            turn = await provider.create(ModelRequest(purpose="select", model="m", system="", messages=messages))
            return turn.usage.input_tokens
        except ProviderError as error:
            return error.message

    async def all_told() -> None:
        one = scripted(replies)
        for number in order:
            messages = CONVERSATIONS[number]
            assert await told(one, messages) == await told(scripted(replies), messages)

    asyncio.run(all_told())


@pytest.mark.parametrize(
    ("reply", "stop_reason"),
    [
        ("text: hi", "end_turn"),
        ("tool_calls: [{name: read}]", "tool_use"),
        ("text: cut, stop_reason: max_tokens", "max_tokens"),
        ("stop_reason: refusal", "refusal"),
        ("stop_reason: model_context_window_exceeded", "model_context_window_exceeded"),
    ],
)
async def test_stop_reasons(reply: str, stop_reason: StopReason) -> None:
    provider = scripted(f"{{scenario: s, replies: [{{purpose: select, {reply}}}]}}")
    assert (await provider.create(ask())).stop_reason == stop_reason


@pytest.mark.parametrize(
    ("error_yaml", "expected"),
    [
        ("code: overloaded", ("overloaded", "provider_error", None, 529)),
        ("code: rate_limited, retry_after: 1.5s", ("rate_limited", "provider_error", 1_500, 429)),
        ("code: timeout", ("timeout", "timeout", None, None)),
        ("code: server_error, status: 503", ("server_error", "provider_error", None, 503)),
    ],
)
async def test_scripted_errors(error_yaml: str, expected: tuple[str, str, int | None, int | None]) -> None:
    usage = "usage: {input_tokens: 4}"
    provider = scripted(f"{{scenario: s, replies: [{{purpose: select, error: {{{error_yaml}}}, {usage}}}]}}")
    error = await failure(provider, ask())
    assert (error.code, error.category, error.retry_after_ms, error.status) == expected
    assert (error.usage.input_tokens, error.usage.calls) == (4, 1)


async def test_delays_are_waited_in_seconds() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    text = "{scenario: s, replies: [{purpose: select, text: a, delay: 2m}, {purpose: select, text: b, delay: 2m}]}"
    provider = scripted(text, sleep=sleep)
    assert (await provider.create(ask())).message.text == "a"
    error = await failure(provider, ask(timeout_ms=1_500))
    assert (error.code, error.category) == ("timeout", "timeout")
    assert waited == [120.0, 1.5]


async def test_usage_is_estimated_from_sizes_where_none_is_given() -> None:
    provider = scripted("{scenario: s, replies: [{purpose: select, text: some words, times: 2}]}")
    small, large = await provider.create(ask()), await provider.create(ask(system="x" * 400))
    assert large.usage.input_tokens == small.usage.input_tokens + 100
    assert small.usage.output_tokens > 0
    assert small.usage.calls == 1


async def test_a_decision_is_one_line_of_json() -> None:
    provider = scripted("{scenario: s, replies: [{purpose: evaluate, decision: {type: CONTINUE, reason: é}}]}")
    assert (await provider.create(ask("evaluate"))).message.text == '{"type": "CONTINUE", "reason": "é"}'


ORDERS = st.permutations(["select", "select", "agent:developer", "agent:developer", "agent:developer"])


@settings(max_examples=60, deadline=None)
@given(order=ORDERS, cut=st.integers(0, 5))
async def test_a_position_resumes_anywhere(order: list[str], cut: int) -> None:
    whole = scripted(TWO_PURPOSES)
    expected = [await says(whole, purpose) for purpose in order]
    first = scripted(TWO_PURPOSES)
    before = [await says(first, purpose) for purpose in order[:cut]]
    second = scripted(TWO_PURPOSES, position=first.position())
    assert before + [await says(second, purpose) for purpose in order[cut:]] == expected
    assert second.position() == whole.position()


async def test_tool_call_ids_go_on_after_a_resume() -> None:
    text = "{scenario: s, replies: [{purpose: 'agent:dev', times: 2, tool_calls: [{name: read}, {name: read}]}]}"
    first = scripted(text)
    ids = [call.id for call in (await first.create(ask("agent:dev"))).message.tool_calls]
    second = scripted(text, position=first.position())
    ids += [call.id for call in (await second.create(ask("agent:dev"))).message.tool_calls]
    assert ids == ["toolu_dev_1_1", "toolu_dev_1_2", "toolu_dev_2_1", "toolu_dev_2_2"]


@pytest.mark.parametrize(
    ("position", "complaint"),
    [
        ({"scenario": "other", "taken": {}}, "of scenario 'other', not of 'two'"),
        ({"scenario": "two", "taken": {"select": 3}}, "3 replies taken for 'select'; the scenario has 2"),
        ({"scenario": "two", "taken": {"evaluate": 1}}, "the scenario has 0"),
        ({"scenario": "two", "taken": {"agent:developer": 1}}, "cannot be reached"),
    ],
)
def test_a_foreign_position_is_refused(position: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        scripted(TWO_PURPOSES + "order: strict\n", position=position)


@settings(max_examples=60, deadline=None)
@given(text=st.text(), thinking=st.text())
def test_deltas_joined_are_the_whole(text: str, thinking: str) -> None:
    reply = Reply(purpose="select", text=text, thinking=thinking, stop_reason="end_turn")
    pieces: dict[str, str] = {"TextDelta": "", "ThinkingDelta": ""}
    for delta in deltas(reply):
        pieces[type(delta).__name__] += delta.text  # type: ignore[union-attr]
    assert pieces == {"TextDelta": text, "ThinkingDelta": thinking}


PROBE: Callable[[str], str] = (
    "import sys, {0}; print(sorted(set(sys.modules) & {{'anthropic', 'httpx2', 'jsonschema'}}))".format
)


@pytest.mark.parametrize(
    "module", ["rawko.providers.scripted.provider", "rawko.providers.scripted.scenario_file", "rawko.providers.models"]
)
def test_the_scripted_path_imports_no_sdk(module: str) -> None:
    run = subprocess.run([sys.executable, "-c", PROBE(module)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
