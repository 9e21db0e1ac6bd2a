"""The Messages API through the real SDK over HTTP on loopback: what is special to it; `test_http` has the rest."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from rawko.runtime.ports import Provider, TextDelta, TurnDone
from rawko.vocabulary.messages import ToolResult, tool_results
from tests.providers.http_apis import ANTHROPIC, failure, request_to

REQUEST = request_to(ANTHROPIC)


@pytest.fixture
async def provider(llmock: Any) -> AsyncIterator[Provider]:
    llmock.tool_mode("off")
    provider = ANTHROPIC.make(llmock.base_url("anthropic"))
    yield provider
    await provider.aclose()


async def test_a_turn(llmock: Any, provider: Provider) -> None:
    llmock.reply("Hello there, world.")
    *deltas, done = [event async for event in provider.stream(REQUEST)]
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello there, world."
    assert isinstance(done, TurnDone)
    assert (done.stop_reason, done.model, done.message.text) == ("end_turn", "claude-sonnet-5", "Hello there, world.")
    assert done.usage.input_tokens > 0
    assert done.usage.output_tokens > 0
    sent = llmock.last_request
    assert sent.body["system"][0]["text"] == "You write code."
    assert [tool["name"] for tool in sent.body["tools"]] == ["write"]
    assert sent.stream is True
    assert sent.sdk_retry_count in (0, None)


async def test_a_turn_with_parallel_tool_calls_and_their_answer(llmock: Any, provider: Provider) -> None:
    inputs = [{"file_path": "a", "content": "é\n" * 20}, {"file_path": "b"}]
    llmock.add(Reply(text="Two files.", tool_calls=tuple(MockCall("write", value) for value in inputs)))
    llmock.reply("Done.")
    done = await provider.create(REQUEST)
    calls = done.message.tool_calls
    assert done.stop_reason == "tool_use"
    assert [call.input for call in calls] == inputs
    results = tool_results([ToolResult(call_id=call.id, content="ok") for call in calls])
    messages = (*REQUEST.messages, done.message, results)
    answer = await provider.create(replace(REQUEST, messages=messages))
    assert answer.message.text == "Done."
    sent = llmock.last_request.body["messages"]
    assert sent[1] == {"role": "assistant", "content": list(done.message.content)}
    assert [block["tool_use_id"] for block in sent[2]["content"]] == [call.id for call in calls]


async def test_a_decision_is_asked_with_its_schema(llmock: Any, provider: Provider) -> None:
    llmock.reply('{"type": "COMPLETE"}')
    schema = {"type": "object", "properties": {"type": {"type": "string", "minLength": 1}}, "required": ["type"]}
    done = await provider.create(replace(REQUEST, tools=(), output_schema=schema))
    assert json.loads(done.message.text) == {"type": "COMPLETE"}
    sent = llmock.last_request.body["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["additionalProperties"] is False


async def test_a_failure_in_the_middle_tells_what_it_cost(llmock: Any, provider: Provider) -> None:
    llmock.reply("one two three four").disconnect(after_chunks=5)
    error = await failure(provider, REQUEST)
    assert error.usage.input_tokens > 0
    assert error.usage.calls == 1
