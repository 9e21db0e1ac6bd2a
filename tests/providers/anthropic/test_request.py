"""Requests as bytes: those that the SDK would send of the same body, however much of them was kept from before."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.providers.anthropic.api import AnthropicProvider
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.providers.anthropic.request import RequestWriter, wire_schema
from rawko.runtime.ports import ModelRequest, ProviderError, ToolSpec
from rawko.vocabulary.messages import Message, user_text

CACHE = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
TOOLS = (
    ToolSpec("read", "Reads é\n a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("write", "Writes.", {"type": "object"}),
)
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "ä/\u2028.txt", "n": [1, 2.5, None, True]}}
TURNS = (
    Message(role="assistant", content=({"type": "thinking", "thinking": "hm", "signature": "s"}, CALL)),
    Message(role="user", content=({"type": "tool_result", "tool_use_id": "t1", "content": 'a "b" \\ c'},)),
)
ASKED = ModelRequest("agent:a", "claude-sonnet-5", "Be \U0001f600.", (user_text("go"), *TURNS), TOOLS)


def body_of(request: ModelRequest, *, uses_cache: bool) -> dict[str, Any]:
    """The arguments of `messages.create` for a request, put together without any of our own encoding."""
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    body["messages"] = [
        {"role": message.role, "content": copy.deepcopy(list(message.content))} for message in request.messages
    ]
    if request.system:
        body["system"] = [{"type": "text", "text": request.system}]
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
    if request.output_schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": wire_schema(request.output_schema)}}
    body = copy.deepcopy(body)
    if uses_cache:
        for part in ("tools", "system"):
            if part in body:
                body[part][-1]["cache_control"] = CACHE
        if request.output_schema is None:
            for message in [one for one in body["messages"] if one["role"] == "user"][-2:]:
                message["content"][-1]["cache_control"] = CACHE
    return body


class Refusing:
    """A transport that keeps what is sent."""

    def __init__(self) -> None:
        self.seen: list[httpx2.Request] = []
        self.client = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self.answer))

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        return httpx2.Response(400, json={"type": "error", "error": {"type": "invalid_request_error", "message": "no"}})


async def sent_by_us(request: ModelRequest, base_url: str) -> httpx2.Request:
    transport = Refusing()
    provider = AnthropicProvider(Endpoint(base_url=base_url, api_key="k"), http_client=transport.client)
    with pytest.raises(ProviderError, match="no"):
        await provider.create(request)
    await provider.aclose()
    return transport.seen[0]


async def sent_by_the_sdk(request: ModelRequest, base_url: str, *, uses_cache: bool) -> httpx2.Request:
    transport = Refusing()
    headers = {"accept-encoding": "gzip, deflate"}
    timeout = httpx2.Timeout(300.0, connect=Endpoint(api_key="k").connect_timeout_ms / 1000)
    async with AsyncAnthropic(
        base_url=base_url,
        api_key="k",
        max_retries=0,
        http_client=transport.client,
        default_headers=headers,
        timeout=timeout,
    ) as client:
        with pytest.raises(Exception, match="no"):
            await client.messages.create(**body_of(request, uses_cache=uses_cache), stream=True)
    return transport.seen[0]


@pytest.mark.parametrize(
    "request_",
    [
        ASKED,
        replace(ASKED, messages=ASKED.messages[:1], tools=()),
        replace(ASKED, system="", max_tokens=1),
        replace(ASKED, purpose="select", messages=(user_text("which?"),), tools=(), output_schema=SCHEMA),
    ],
    ids=["conversation", "first turn", "no system", "decision"],
)
@pytest.mark.parametrize("base_url", ["https://api.anthropic.com", "http://localhost:1"])
async def test_a_request_is_the_sdks_own_byte_by_byte(request_: ModelRequest, base_url: str) -> None:
    endpoint = Endpoint(base_url=base_url, api_key="k")
    ours = await sent_by_us(request_, base_url)
    theirs = await sent_by_the_sdk(request_, base_url, uses_cache=endpoint.uses_cache)
    assert ours.content == theirs.content
    assert (ours.method, ours.url) == (theirs.method, theirs.url)
    assert dict(ours.headers) == dict(theirs.headers)


def test_what_was_sent_before_is_not_encoded_again() -> None:
    """What a call costs does not grow with the conversation: only the marked messages are looked at once more."""
    writer = RequestWriter(uses_cache=True)
    messages = [user_text("go")]
    for _ in range(3):
        messages += [one.model_copy(deep=True) for one in TURNS]
        writer.write(replace(ASKED, messages=tuple(messages)))
    for message in messages:
        message.content[0]["seen"] = "again"
    sent = json.loads(writer.write(replace(ASKED, messages=tuple(messages))))["messages"]
    assert ["seen" in message["content"][0] for message in sent] == [False, False, False, False, True, False, True]


PIECES = st.sampled_from([user_text("a"), user_text("b"), *TURNS, Message(role="assistant", content=())])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.lists(PIECES, max_size=4)), max_size=6), st.booleans(), st.booleans())
def test_what_was_kept_changes_no_byte(
    calls: list[tuple[int, list[Message]]], uses_cache: bool, is_decision: bool
) -> None:
    """Calls that keep some of the first messages of the one before, and add others, through one writer."""
    writer = RequestWriter(uses_cache=uses_cache)
    messages: list[Message] = []
    for number, (kept, added) in enumerate(calls):
        messages = [*messages[:kept], *added]
        request = replace(
            ASKED,
            messages=tuple(messages),
            tools=TOOLS[: number % 3],
            system="S" * (number % 2),
            output_schema=SCHEMA if is_decision else None,
        )
        assert writer.write(request) == RequestWriter(uses_cache=uses_cache).write(request)
