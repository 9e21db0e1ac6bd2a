"""The provider `anthropic`: any Messages-API server, through the SDK. One call is one attempt.

Importing this module loads the SDK (over a second); the settings are in `endpoint` and `models`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final

import httpx2
from anthropic import AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient
from anthropic.types import Message

from rawko.providers.answer_size import ACCEPTED_ENCODINGS, bounded
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.providers.anthropic.failures import classify
from rawko.providers.anthropic.request import RequestWriter
from rawko.providers.anthropic.wire import AnswerReader
from rawko.providers.http.calls import answered, whole
from rawko.providers.models import resolve_model
from rawko.runtime.ports import ModelRequest, StreamEvent, TurnDone

_EVENTS: Final = AsyncStream[object]
"""A stream of events as the JSON objects received, so that blocks newer than the SDK stay unchanged."""
_NO_KEY: Final = "no-key"
"""The key that servers without sign-in are sent, because the SDK requires one."""


class AnthropicProvider:
    """A Provider for a Messages-API server.

    The SDK's own retries are off: they are silent, and the machines retry (C-24). Decisions are streamed like
    conversations, so that both use one path and one table of failures, and slow answers have no time limit of their
    own.

    Args:
        endpoint: Address and sign-in of the server.
        http_client: Another transport for the SDK (`anthropic.DefaultAsyncHttpxClient`); closed with the provider.
        wrap: Adds middleware to the SDK's client; used to record and play cassettes.
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

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield deltas as they arrive, then the TurnDone. Closing the iterator closes the call's connection."""

        async def open_answer() -> AsyncStream[object]:
            # `messages.create` would copy and encode the whole conversation with each call.
            return await self._client.post(
                "/v1/messages", content=self._writer.write(request), cast_to=Message, stream=True, stream_cls=_EVENTS
            )

        whole_ms = min(request.timeout_ms or self._endpoint.timeout_ms, self._endpoint.timeout_ms)
        return answered(open_answer, AnswerReader(resolve_model(request.model)), classify, whole_ms=whole_ms)

    async def create(self, request: ModelRequest) -> TurnDone:
        """The whole answer."""
        return await whole(self.stream(request))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()


def _transport_timeout(endpoint: Endpoint) -> httpx2.Timeout:
    """Bounds of single waits on the wire. A ping ends a wait there; the SDK does not pass pings on."""
    return httpx2.Timeout(endpoint.idle_timeout_ms / 1000, connect=endpoint.connect_timeout_ms / 1000)
