"""The openai provider keeps every promise of the Provider port, in front of a server that speaks the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from openai import DefaultAsyncHttpxClient

from rawko.providers.chat_completions.api import OpenAIProvider
from rawko.providers.chat_completions.endpoint import ChatEndpoint
from rawko.runtime.ports import Provider
from rawko.testing.conformance.providers import PROVIDER_CONTRACTS, Contract, Play
from rawko.vocabulary.errors import ProviderCode

ERRORS: dict[ProviderCode, tuple[int, str]] = {
    "rate_limited": (429, "rate_limit_exceeded"),
    "overloaded": (503, "overloaded"),
    "server_error": (500, "server_error"),
}


class ChatHarness:
    """Speaks the plays as server-sent chunks through the SDK's transport."""

    def __init__(self) -> None:
        self.tries = 0
        self._plays: list[Play] = []

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        self.tries, self._plays = 0, list(plays)
        client = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self._answer))
        provider = OpenAIProvider(ChatEndpoint(base_url="http://model.test", api_key="k"), http_client=client)
        yield provider
        await provider.aclose()

    async def _answer(self, _: httpx2.Request) -> httpx2.Response:
        self.tries += 1
        play = self._plays.pop(0)
        await asyncio.sleep(play.delay_ms / 1000)
        if play.failure == "network_error":
            raise httpx2.ConnectError("refused")
        if play.failure is not None and not (play.text or play.thinking):
            status, word = ERRORS[play.failure]
            headers = {} if play.retry_after_ms is None else {"retry-after": str(play.retry_after_ms / 1000)}
            error = {"message": word, "type": "requests", "code": word}
            return httpx2.Response(status, headers=headers, json={"error": error})
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_sent(play, self.tries))


async def _sent(play: Play, call: int) -> AsyncIterator[bytes]:
    for chunk in _chunks(play, call):
        yield f"data: {json.dumps(chunk)}\n\n".encode()
        await asyncio.sleep(0)
    yield b"data: [DONE]\n\n"


def _chunks(play: Play, call: int) -> Iterator[dict[str, Any]]:
    yield _chunk({"role": "assistant", "content": ""})
    for piece in _pieces(play.thinking):
        yield _chunk({"reasoning_content": piece})
    for piece in _pieces(play.text):
        yield _chunk({"content": piece})
    if play.failure is not None:
        yield {"error": {"message": "in the middle", "type": "server_error", "code": ERRORS[play.failure][1]}}
        return
    for index, (name, value) in enumerate(play.tool_calls):
        yield _call(index, "", id=f"call_{call}_{index}", type="function", name=name)
        for piece in _pieces(json.dumps(value)):
            yield _call(index, piece)
    yield _chunk({}, finish_reason="tool_calls" if play.tool_calls else "stop")
    usage = play.usage
    cached = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    counts = {"prompt_tokens": prompt, "completion_tokens": usage.output_tokens, "prompt_tokens_details": cached}
    yield {"object": "chat.completion.chunk", "model": "gpt-test", "choices": [], "usage": counts}


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "gpt-test", "choices": [choice]}


def _call(index: int, arguments: str, *, name: str | None = None, **known: str) -> dict[str, Any]:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return _chunk({"tool_calls": [{"index": index, **known, "function": function}]})


def _pieces(text: str) -> list[str]:
    return [text[start : start + 7] for start in range(0, len(text), 7)]


@pytest.mark.parametrize("contract", PROVIDER_CONTRACTS, ids=str)
async def test_contract(contract: Contract) -> None:
    await contract.check(ChatHarness())
