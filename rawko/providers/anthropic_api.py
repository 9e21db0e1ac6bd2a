"""The anthropic provider: any Messages-API server through the SDK. One call is one try.

Importing this module loads the SDK (over a second); settings alone are in `endpoint` and `models`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Final

import httpx2
from anthropic import AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient
from anthropic.types import Message

from rawko.providers.answer_size import ACCEPTED_ENCODINGS, bounded
from rawko.providers.anthropic_failures import classify
from rawko.providers.anthropic_request import RequestWriter
from rawko.providers.anthropic_wire import AnswerReader
from rawko.providers.endpoint import Endpoint
from rawko.providers.models import resolve_model
from rawko.runtime.ports import ModelRequest, StreamEvent, TurnDone

_EVENTS: Final = AsyncStream[object]
"""A stream of events as the JSON objects that came: blocks newer than the SDK come through whole."""
_END: Final = object()
_NO_KEY: Final = "no-key"
"""What servers without sign-in are sent; the SDK refuses to send nothing."""


class AnthropicProvider:
    """A Provider in front of a Messages-API server.

    The SDK's own retries are off: they are silent, and retrying belongs to the machines (C-24). Decisions are
    streamed like conversations, so that there is one path, one table of failures, and no limit on slow answers.

    Args:
        endpoint: Where the server is.
        http_client: Another transport for the SDK (`anthropic.DefaultAsyncHttpxClient`); closed with the provider.
        wrap: Puts middleware around the SDK's client: what records and plays cassettes.
    """

    name = "anthropic"

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        http_client: httpx2.AsyncClient | None = None,
        wrap: Callable[[AsyncAnthropic], AsyncAnthropic] | None = None,
    ) -> None:
        self._endpoint = endpoint
        transport = http_client or DefaultAsyncHttpxClient()
        transport.event_hooks = {
            **transport.event_hooks,
            "response": [*transport.event_hooks.get("response", ()), bounded],
        }
        client = AsyncAnthropic(
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=_transport_timeout(endpoint),
            http_client=transport,
            default_headers={"accept-encoding": ACCEPTED_ENCODINGS},
            api_key=endpoint.api_key or (None if endpoint.auth_token else _NO_KEY),
            auth_token=None if endpoint.api_key else endpoint.auth_token,
        )
        self._client = client if wrap is None else wrap(client)
        self._writer = RequestWriter(uses_cache=endpoint.uses_cache)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Deltas as they arrive, then the end. Closing the iterator closes the connection of the call."""
        call = _Call(self._client, self._endpoint, request, self._writer.write(request))
        try:
            while not isinstance(event := await call.next(), TurnDone):
                yield event
            yield event
        finally:
            await call.close()

    async def create(self, request: ModelRequest) -> TurnDone:
        """The whole answer at once."""
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                if isinstance(event, TurnDone):
                    return event
        raise AssertionError("a stream ends with TurnDone or raises")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()


class _Call:
    """One call on its way: opened on the first `next`, bounded as a whole. Silences are the transport's to bound."""

    def __init__(self, client: AsyncAnthropic, endpoint: Endpoint, request: ModelRequest, body: bytes) -> None:
        self._client = client
        self._body = body
        self._reader = AnswerReader(resolve_model(request.model))
        self._whole_s = min(request.timeout_ms or endpoint.timeout_ms, endpoint.timeout_ms) / 1000
        self._ends_at = asyncio.get_running_loop().time() + self._whole_s
        self._answer: AsyncStream[object] | None = None
        self._events: AsyncIterator[object] | None = None

    async def next(self) -> StreamEvent:
        """The next delta, or the end.

        Raises:
            ProviderError: The call failed.
        """
        try:
            return await self._next()
        except Exception as error:
            failure = classify(error, usage=self._reader.usage)
            if failure is None:
                raise
            raise failure from error

    async def close(self) -> None:
        """Close the connection if the answer has not come to its end."""
        if self._answer is not None:
            await self._answer.close()

    async def _next(self) -> StreamEvent:
        async with self._in_time():
            if self._events is None:
                # `messages.create` would copy and encode the whole conversation with each call.
                self._answer = await self._client.post(
                    "/v1/messages", content=self._body, cast_to=Message, stream=True, stream_cls=_EVENTS
                )
                self._events = aiter(self._answer)
            while (event := await anext(self._events, _END)) is not _END:
                if (delta := self._reader.read(event)) is not None:
                    return delta
        return self._reader.done()

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Bound one wait by the call's end.

        Each wait is bounded on its own, never the generator as a whole: a timeout that is open across a `yield`
        would cancel whatever the reader of the stream is doing.
        """
        try:
            async with asyncio.timeout_at(self._ends_at):
                yield
        except TimeoutError as error:
            raise TimeoutError(f"no end within {self._whole_s:g} s") from error


def _transport_timeout(endpoint: Endpoint) -> httpx2.Timeout:
    """Bounds of single waits on the wire. There a ping ends a silence; the SDK passes none of them on."""
    return httpx2.Timeout(endpoint.idle_timeout_ms / 1000, connect=endpoint.connect_timeout_ms / 1000)
