"""The chat completions API through the real SDK over HTTP on loopback: what is special to it, its dialects and headers;
`test_http` has the rest."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall
from openai import DefaultAsyncHttpxClient

from rawko.providers.chat_completions.api import OpenAIProvider
from rawko.providers.chat_completions.endpoint import ChatEndpoint
from rawko.runtime.ports import Provider, TextDelta, TurnDone
from rawko.vocabulary.messages import ToolResult, tool_results
from tests.providers.http_apis import OPENAI, failure, request_to

REQUEST = request_to(OPENAI)
SCHEMA = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
DECISION = replace(REQUEST, purpose="select", tools=(), output_schema=SCHEMA)


@pytest.fixture
async def provider(llmock: Any) -> AsyncIterator[Provider]:
    llmock.tool_mode("off")
    provider = OPENAI.make(llmock.base_url("openai"))
    yield provider
    await provider.aclose()


async def test_a_turn(llmock: Any, provider: Provider) -> None:
    llmock.reply("Hello there, world.")
    *deltas, done = [event async for event in provider.stream(REQUEST)]
    assert len(deltas) > 1
    assert isinstance(done, TurnDone)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello there, world."
    assert (done.stop_reason, done.model, done.message.text) == ("end_turn", "gpt-test", "Hello there, world.")
    assert done.usage.input_tokens > 0 and done.usage.output_tokens > 0
    sent = llmock.last_request.body
    assert sent["messages"] == [{"role": "system", "content": "You write code."}, {"role": "user", "content": "go"}]
    assert sent["max_tokens"] == 8192
    assert sent["stream_options"] == {"include_usage": True}
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "write", "description": "Write a file.",
                                          "parameters": {"type": "object", "properties": {}}}}
    ]  # fmt: skip


async def test_a_turn_with_parallel_tool_calls_and_their_answer(llmock: Any, provider: Provider) -> None:
    inputs = [{"file_path": "a", "content": "é\n" * 20}, {"file_path": "b"}]
    llmock.add(Reply(text="Two files.", tool_calls=tuple(MockCall("write", value) for value in inputs)))
    llmock.reply("Done.")
    done = await provider.create(REQUEST)
    calls = done.message.tool_calls
    assert done.stop_reason == "tool_use"
    assert [call.input for call in calls] == inputs
    results = tool_results([ToolResult(call_id=call.id, content="ok") for call in calls], note="Go on.")
    answer = await provider.create(replace(REQUEST, messages=(*REQUEST.messages, done.message, results)))
    assert answer.message.text == "Done."
    asked, *answered = llmock.last_request.body["messages"][2:]
    assert [json.loads(call["function"]["arguments"]) for call in asked["tool_calls"]] == inputs
    assert [call["id"] for call in asked["tool_calls"]] == [call.id for call in calls]
    assert answered == [
        *({"role": "tool", "tool_call_id": call.id, "content": "ok"} for call in calls),
        {"role": "user", "content": "Go on."},
    ]


class Server:
    """A server that refuses what it does not know, as some do, and notes what it was sent."""

    def __init__(self, *refused: tuple[str, str]) -> None:
        self.refused = refused
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[httpx2.Headers] = []

    def provider(self, endpoint: ChatEndpoint) -> OpenAIProvider:
        return OpenAIProvider(endpoint, http_client=DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self)))

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        text = request.content.decode()
        self.bodies.append(json.loads(text))
        self.headers.append(request.headers)
        for field, words in self.refused:
            if f'"{field}"' in text:
                return httpx2.Response(400, json={"error": {"message": words, "type": "invalid_request_error"}})
        choice = {"index": 0, "delta": {"content": '{"type": "COMPLETE"}'}, "finish_reason": "stop"}
        return httpx2.Response(200, text=f"data: {json.dumps({'model': 'm', 'choices': [choice]})}\n\ndata: [DONE]\n\n")


SCHEMA_REFUSED = ("json_schema", "response_format type json_schema is unavailable now")
OBJECT_REFUSED = ("response_format", "This response_format type is unsupported")
LIMIT_REFUSED = ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
USAGE_REFUSED = ("stream_options", "stream_options: Extra inputs are not permitted")


@pytest.mark.parametrize(
    ("refused", "tries", "form", "has_schema"),
    [
        ((), 1, "json_schema", False),
        ((SCHEMA_REFUSED,), 2, "json_object", True),
        ((SCHEMA_REFUSED, OBJECT_REFUSED), 3, None, True),
        ((SCHEMA_REFUSED, LIMIT_REFUSED, USAGE_REFUSED), 4, "json_object", True),
    ],
)
async def test_a_refused_field_is_asked_in_another_form(
    refused: tuple[tuple[str, str], ...], tries: int, form: str | None, has_schema: bool
) -> None:
    server = Server(*refused)
    provider = server.provider(ChatEndpoint(base_url="http://model.test"))
    for _ in range(2):
        assert json.loads((await provider.create(DECISION)).message.text) == {"type": "COMPLETE"}
    assert len(server.bodies) == tries + 1, "what is found out once is known"
    last = server.bodies[-1]
    assert last.get("response_format", {}).get("type") == form
    assert ('"required":["type"]' in last["messages"][0]["content"]) is has_schema
    assert ("max_completion_tokens" in last) is (LIMIT_REFUSED in refused)
    assert ("stream_options" in last) is (USAGE_REFUSED not in refused)
    await provider.aclose()


async def test_a_refusal_of_something_else_is_a_failure() -> None:
    server = Server(("messages", "max_tokens is too large: 8192. This model supports at most 4096"))
    provider = server.provider(ChatEndpoint(base_url="http://model.test"))
    assert (await failure(provider, DECISION)).code == "invalid_request"
    assert len(server.bodies) == 1
    await provider.aclose()


async def test_tokens_are_estimated_where_the_server_reports_none() -> None:
    provider = Server().provider(ChatEndpoint(base_url="http://model.test"))
    usage = (await provider.create(REQUEST)).usage
    assert (usage.output_tokens, usage.calls) == (5, 1)
    assert usage.input_tokens > 50
    await provider.aclose()


@pytest.mark.parametrize(
    ("endpoint", "sent"),
    [
        (ChatEndpoint(base_url="http://model.test"), {}),
        (ChatEndpoint(base_url="http://model.test", api_key="k"), {"authorization": "Bearer k"}),
        (
            ChatEndpoint(api_key="k", organization="o", project="p"),
            {"authorization": "Bearer k", "openai-organization": "o", "openai-project": "p"},
        ),
    ],
)
async def test_no_header_but_the_endpoints_own_is_sent(
    endpoint: ChatEndpoint, sent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "stray")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "stray")
    monkeypatch.setenv("OPENAI_ORG_ID", "stray")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "stray")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer stray\nX-Key: stray")
    server = Server()
    provider = server.provider(endpoint)
    await provider.create(REQUEST)
    (headers,) = server.headers
    assert "stray" not in str(headers.raw)
    plain = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
    assert {name: value for name, value in headers.items() if name not in plain} == sent
    assert ("max_completion_tokens" in server.bodies[0]) is endpoint.is_openai
    await provider.aclose()


async def test_a_redirect_to_another_server_is_followed_without_sign_in() -> None:
    seen: list[tuple[str, set[str]]] = []
    server = Server()

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.url.host, set(request.headers) & {"authorization", "openai-organization"}))
        if request.url.host == "model.test":
            return httpx2.Response(307, headers={"location": "http://other.test/v1/chat/completions"})
        return server(request)

    client = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(answer))
    endpoint = ChatEndpoint(base_url="http://model.test", api_key="k", organization="o")
    provider = OpenAIProvider(endpoint, http_client=client)
    await provider.create(REQUEST)
    assert seen == [("model.test", {"authorization", "openai-organization"}), ("other.test", set())]
    await provider.aclose()
