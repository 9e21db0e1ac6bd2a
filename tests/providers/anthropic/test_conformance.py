"""The anthropic provider keeps every promise of the Provider port, in front of a server that speaks the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from anthropic import DefaultAsyncHttpxClient

from rawko.providers.anthropic.api import AnthropicProvider
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.runtime.ports import Provider
from rawko.testing.conformance.providers import PROVIDER_CONTRACTS, Contract, Play
from rawko.vocabulary.errors import ProviderCode
from rawko.vocabulary.usage import Usage

ERROR_ANSWERS: dict[ProviderCode, tuple[int, str]] = {
    "rate_limited": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "server_error": (500, "api_error"),
}


class WireHarness:
    """Speaks the plays as server-sent events through the SDK's transport."""

    def __init__(self) -> None:
        self.tries = 0
        self._plays: list[Play] = []

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        self.tries, self._plays = 0, list(plays)
        client = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self._answer))
        provider = AnthropicProvider(Endpoint(base_url="http://model.test", api_key="k"), http_client=client)
        yield provider
        await provider.aclose()

    async def _answer(self, _: httpx2.Request) -> httpx2.Response:
        self.tries += 1
        play = self._plays.pop(0)
        await asyncio.sleep(play.delay_ms / 1000)
        if play.failure == "network_error":
            raise httpx2.ConnectError("refused")
        if play.failure is not None and not (play.text or play.thinking):
            return _error(play)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_sent(play, self.tries))


def _error(play: Play) -> httpx2.Response:
    assert play.failure is not None
    status, kind = ERROR_ANSWERS[play.failure]
    headers = {} if play.retry_after_ms is None else {"retry-after": str(play.retry_after_ms / 1000)}
    return httpx2.Response(status, headers=headers, json={"type": "error", "error": {"type": kind, "message": kind}})


async def _sent(play: Play, call: int) -> AsyncIterator[bytes]:
    for event in _events(play, call):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        await asyncio.sleep(0)


def _events(play: Play, call: int) -> Iterator[dict[str, Any]]:
    start: dict[str, Any] = {
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
        "usage": _usage(play.usage, 1),
    }
    yield {"type": "message_start", "message": {"type": "message", "id": "msg_1", **start}}
    index = -1
    for index, (block, deltas) in enumerate(_blocks(play, call)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if play.failure is not None:
        kind = ERROR_ANSWERS[play.failure][1]
        yield {"type": "error", "error": {"type": kind, "message": "in the middle"}}
        return
    stop_reason = "tool_use" if play.tool_calls else "end_turn"
    usage = {"output_tokens": play.usage.output_tokens}
    yield {"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _blocks(play: Play, call: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if play.thinking:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(play.thinking)]
        block = {"type": "thinking", "thinking": "", "signature": ""}
        yield block, [*thoughts, {"type": "signature_delta", "signature": "c2lnbmVk"}]
    if play.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(play.text)]
    for number, (name, value) in enumerate(play.tool_calls):
        start: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{call}_{number}", "name": name, "input": {}}
        yield start, [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(json.dumps(value))]


def _pieces(text: str) -> list[str]:
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def _usage(usage: Usage, output_tokens: int) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }


@pytest.mark.parametrize("contract", PROVIDER_CONTRACTS, ids=str)
async def test_contract(contract: Contract) -> None:
    await contract.check(WireHarness())
