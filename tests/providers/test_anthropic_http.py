"""The anthropic provider through the real SDK over HTTP on loopback: turns, tools, and every way a server breaks."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from rawko.providers.anthropic_api import AnthropicProvider
from rawko.providers.endpoint import Endpoint
from rawko.runtime.ports import ModelRequest, ProviderError, TextDelta, ToolSpec, TurnDone
from rawko.vocabulary.messages import ToolResult, tool_results, user_text

WRITE = ToolSpec(name="write", description="Write a file.", input_schema={"type": "object", "properties": {}})
REQUEST = ModelRequest(
    purpose="agent:developer",
    model="claude-sonnet-5",
    system="You write code.",
    messages=(user_text("go"),),
    tools=(WRITE,),
    timeout_ms=10_000,
)


@pytest.fixture
async def provider(llmock: Any) -> AsyncIterator[AnthropicProvider]:
    llmock.tool_mode("off")
    provider = AnthropicProvider(Endpoint(base_url=llmock.base_url("anthropic"), api_key="k", idle_timeout_ms=300))
    yield provider
    await provider.aclose()


async def stream(provider: AnthropicProvider, request: ModelRequest = REQUEST) -> list[Any]:
    return [event async for event in provider.stream(request)]


async def failure(provider: AnthropicProvider, request: ModelRequest = REQUEST) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await stream(provider, request)
    return caught.value


async def test_a_turn(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.reply("Hello there, world.")
    *deltas, done = await stream(provider)
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert "".join(delta.text for delta in deltas) == "Hello there, world."
    assert isinstance(done, TurnDone)
    assert (done.stop_reason, done.model, done.message.text) == ("end_turn", "claude-sonnet-5", "Hello there, world.")
    assert done.usage.input_tokens > 0
    assert done.usage.output_tokens > 0
    sent = llmock.last_request
    assert sent.body["system"][0]["text"] == "You write code."
    assert [tool["name"] for tool in sent.body["tools"]] == ["write"]
    assert sent.stream is True
    assert sent.sdk_retry_count in (0, None)


async def test_a_turn_with_parallel_tool_calls_and_their_answer(llmock: Any, provider: AnthropicProvider) -> None:
    inputs = [{"file_path": "a", "content": "é\n" * 20}, {"file_path": "b"}]
    llmock.add(Reply(text="Two files.", tool_calls=tuple(MockCall("write", value) for value in inputs)))
    llmock.reply("Done.")
    done = await provider.create(REQUEST)
    calls = done.message.tool_calls
    assert done.stop_reason == "tool_use"
    assert [call.input for call in calls] == inputs
    results = tool_results([ToolResult(call_id=call.id, content="ok") for call in calls])
    messages = (*REQUEST.messages, done.message, results)
    answer = await provider.create(ModelRequest(**{**vars_of(REQUEST), "messages": messages}))
    assert answer.message.text == "Done."
    sent = llmock.last_request.body["messages"]
    assert sent[1] == {"role": "assistant", "content": list(done.message.content)}
    assert [block["tool_use_id"] for block in sent[2]["content"]] == [call.id for call in calls]


def vars_of(request: ModelRequest) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__dataclass_fields__}


async def test_a_decision_is_asked_with_its_schema(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.reply('{"type": "COMPLETE"}')
    schema = {"type": "object", "properties": {"type": {"type": "string", "minLength": 1}}, "required": ["type"]}
    done = await provider.create(ModelRequest(**{**vars_of(REQUEST), "tools": (), "output_schema": schema}))
    assert json.loads(done.message.text) == {"type": "COMPLETE"}
    sent = llmock.last_request.body["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["additionalProperties"] is False


Break = Callable[[Any], Any]
FAILURES: list[tuple[str, Break, tuple[str, str, int | None, int | None]]] = [
    ("429", lambda m: m.rate_limit(retry_after=7), ("rate_limited", "provider_error", 7_000, 429)),
    ("529", lambda m: m.fail(529), ("overloaded", "provider_error", 1_000, 529)),
    ("529 wait", lambda m: m.fail(529, retry_after=2), ("overloaded", "provider_error", 2_000, 529)),
    ("500", lambda m: m.fail(500), ("server_error", "provider_error", None, 500)),
    ("502", lambda m: m.fail(502), ("server_error", "provider_error", None, 502)),
    ("503", lambda m: m.fail(503), ("overloaded", "provider_error", 1_000, 503)),
    ("401", lambda m: m.fail(401), ("authentication", "provider_error", None, 401)),
    ("402", lambda m: m.fail(402), ("billing", "provider_error", None, 402)),
    ("403", lambda m: m.fail(403), ("permission", "provider_error", None, 403)),
    ("404", lambda m: m.fail(404), ("not_found", "provider_error", None, 404)),
    ("400", lambda m: m.fail(400), ("invalid_request", "provider_error", None, 400)),
    ("413", lambda m: m.fail(413), ("context_window", "provider_error", None, 413)),
    ("long prompt", lambda m: m.context_overflow(), ("context_window", "provider_error", None, 400)),
    ("dropped", lambda m: m.disconnect(after_chunks=3), ("network_error", "provider_error", None, None)),
    ("cut off", lambda m: m.truncate(after_chunks=3), ("network_error", "provider_error", None, None)),
    ("corrupt", lambda m: m.corrupt(after_chunks=3), ("malformed", "provider_error", None, None)),
    ("stalled", lambda m: m.stall(after_chunks=3, seconds=1), ("timeout", "timeout", None, None)),
    ("bad input", lambda m: m.break_tool_call(), ("malformed", "provider_error", None, None)),
]


@pytest.mark.parametrize(("break_it", "expected"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
async def test_failures(
    llmock: Any,
    provider: AnthropicProvider,
    break_it: Break,
    expected: tuple[str, str, int | None, int | None],
) -> None:
    break_it(llmock)
    error = await failure(provider)
    assert (error.code, error.category, error.retry_after_ms, error.status) == expected
    assert error.__cause__ is not None
    llmock.reply("Fine again.")
    assert (await provider.create(REQUEST)).message.text == "Fine again."
    assert len(llmock.requests) == 2, "one call is one try (C-24)"


async def test_a_failure_in_the_middle_tells_what_it_cost(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.reply("one two three four").disconnect(after_chunks=5)
    error = await failure(provider)
    assert error.usage.input_tokens > 0
    assert error.usage.calls == 1


async def test_an_unknown_tool_is_the_callers_to_answer(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.break_tool_call("unknown_tool")
    (call,) = (await provider.create(REQUEST)).message.tool_calls
    assert call.name != "write"


async def test_the_whole_call_is_bounded(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.delay(1)
    error = await failure(provider, ModelRequest(**{**vars_of(REQUEST), "timeout_ms": 100}))
    assert (error.code, error.category) == ("timeout", "timeout")
    assert error.message == "the model did not answer in time: no end within 0.1 s"


async def test_a_silence_is_bounded(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.stall(after_chunks=2, seconds=1)
    error = await failure(provider)
    assert error.message == "the model did not answer in time: the server fell silent"


async def test_a_server_that_never_begins(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.delay(1)
    error = await failure(provider)
    assert error.code == "timeout"
    assert error.message == f"{llmock.url} did not answer in time: the server fell silent"


async def test_closing_a_stream_aborts_the_call(llmock: Any, provider: AnthropicProvider) -> None:
    llmock.reply("word " * 400).pace(20)
    async with aclosing(provider.stream(REQUEST)) as events:
        await anext(events)
    (record,) = await asyncio.to_thread(lambda: llmock.requests)
    assert record.completed is False
    assert record.chunks_sent < 100


async def test_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    provider = AnthropicProvider(Endpoint(base_url=f"http://127.0.0.1:{port}"))
    error = await failure(provider)
    assert (error.code, error.status) == ("network_error", None)
    assert error.message.startswith(f"the connection to http://127.0.0.1:{port} failed: ")
    await provider.aclose()


async def test_an_address_that_is_none() -> None:
    provider = AnthropicProvider(Endpoint(base_url="localhost:8080"))
    error = await failure(provider)
    assert error.code == "invalid_request"
    await provider.aclose()
