"""The provider `openai`: any server of the chat completions API, through the SDK. One call is one attempt.

Importing this module loads the SDK; the settings are in `endpoint`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream, DefaultAsyncHttpxClient
from openai.types.chat import ChatCompletionChunk

from rawko.providers.answer_size import ACCEPTED_ENCODINGS, bounded
from rawko.providers.chat_completions.answer import AnswerReader
from rawko.providers.chat_completions.dialect import Dialect
from rawko.providers.chat_completions.endpoint import ChatEndpoint
from rawko.providers.chat_completions.failures import classify, text_of
from rawko.providers.chat_completions.request import RequestWriter
from rawko.providers.http.calls import answered, whole
from rawko.providers.http.failures import server_of
from rawko.providers.models import resolve_model
from rawko.runtime.ports import ModelRequest, StreamEvent, TurnDone

_CHUNKS: Final = AsyncStream[object]
"""A stream of chunks as the JSON objects received, so that fields newer than the SDK stay unchanged."""
_NO_KEY: Final = "no-key"
"""The SDK requires a key; the header with this one is never sent."""

_SENT: Final = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "transfer-encoding"}
    | {"user-agent", "authorization", "openai-organization", "openai-project"}
)
"""The headers of a request. The SDK adds headers from OPENAI_CUSTOM_HEADERS, which may contain keys, to requests for
any server, and facts about this machine; neither is sent."""


class OpenAIProvider:
    """A Provider for a server of the chat completions API.

    The SDK's own retries are off: they are silent, and the machines retry (C-24). If the server refuses the form of a
    field, the request is sent again in another form (`dialect`), which is remembered per model.

    Args:
        endpoint: Address and sign-in of the server.
        http_client: Another transport for the SDK (`openai.DefaultAsyncHttpxClient`); closed with the provider.
    """

    name = "openai"

    def __init__(self, endpoint: ChatEndpoint, *, http_client: httpx2.AsyncClient | None = None) -> None:
        self._endpoint = endpoint
        transport = http_client or DefaultAsyncHttpxClient()
        transport.event_hooks = {
            **transport.event_hooks,
            "request": [*transport.event_hooks.get("request", ()), self._trim],
            "response": [*transport.event_hooks.get("response", ()), bounded],
        }
        self._client = AsyncOpenAI(
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=httpx2.Timeout(endpoint.idle_timeout_ms / 1000, connect=endpoint.connect_timeout_ms / 1000),
            http_client=transport,
            default_headers={"accept-encoding": ACCEPTED_ENCODINGS, **_sign_in(endpoint)},
            api_key=endpoint.api_key or _NO_KEY,
            admin_api_key="",
            organization=endpoint.organization or "",
            project=endpoint.project or "",
        )
        self._writer = RequestWriter(returns_reasoning=not endpoint.is_openai)
        self._dialects: dict[str, Dialect] = {}

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield deltas as they arrive, then the TurnDone. Closing the iterator closes the call's connection."""
        reader = AnswerReader(resolve_model(request.model))

        async def open_answer() -> AsyncStream[object]:
            return await self._open(request, reader)

        whole_ms = min(request.timeout_ms or self._endpoint.timeout_ms, self._endpoint.timeout_ms)
        return answered(open_answer, reader, classify, whole_ms=whole_ms)

    async def create(self, request: ModelRequest) -> TurnDone:
        """The whole answer."""
        return await whole(self.stream(request))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _open(self, request: ModelRequest, reader: AnswerReader) -> AsyncStream[object]:
        """Send the request, in the forms that the server accepts."""
        first = Dialect(limit="max_completion_tokens" if self._endpoint.is_openai else "max_tokens")
        dialect = self._dialects.get(request.model, first)
        tried = {dialect}
        while True:
            body = self._writer.write(request, dialect)
            reader.sent_bytes = len(body)
            try:
                answer = await self._client.post(
                    "/chat/completions", content=body, cast_to=ChatCompletionChunk, stream=True, stream_cls=_CHUNKS
                )
            except openai.APIStatusError as error:
                is_decision = request.output_schema is not None
                other = dialect.after_refusal(error.status_code, text_of(error), is_decision=is_decision)
                if other is None or other in tried:
                    raise
                dialect = other
                tried.add(other)
            else:
                self._dialects[request.model] = dialect
                return answer

    async def _trim(self, request: httpx2.Request) -> None:
        """Remove from a request all unknown headers, and all sign-in but the endpoint's own to the endpoint itself.

        A redirect to another server is followed without sign-in.
        """
        endpoint, is_there = self._endpoint, server_of(request.url) == server_of(httpx2.URL(self._endpoint.base_url))
        own = f"Bearer {endpoint.api_key}" if endpoint.api_key else None
        for name in set(request.headers) - _SENT:
            del request.headers[name]
        given = {
            "authorization": own,
            "openai-organization": endpoint.organization,
            "openai-project": endpoint.project,
        }
        for name, value in given.items():
            if name in request.headers and not (is_there and request.headers[name] == value):
                del request.headers[name]


def _sign_in(endpoint: ChatEndpoint) -> dict[str, str]:
    """The key as a header of its own; otherwise an authorization in OPENAI_CUSTOM_HEADERS would replace it."""
    return {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
