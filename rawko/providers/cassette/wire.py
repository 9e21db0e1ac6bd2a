"""Records and plays at the SDK's middleware: requests, and answers as the received bytes.

A played answer takes the same path as a server's: events, status codes, broken connections. A client that plays never
uses its transport. Importing this module loads the SDK.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import anthropic
import httpx2
from anthropic import AsyncAnthropic, AsyncAPIResponse

from rawko.providers.cassette.answers import cleaned, is_complete_stream, readable_content, restored
from rawko.providers.cassette.cleaning import Cleaner
from rawko.providers.cassette.recorder import WIRE_CALL, Recorder, WireCall
from rawko.providers.cassette.tape import Tape

Next = Callable[[Any], Awaitable[Any]]
Middleware = Callable[[Any, Next], Awaitable[Any]]

KEPT_HEADERS: Final = ("content-type", "request-id", "retry-after", "retry-after-ms", "x-should-retry")
"""The headers of an answer that its reader needs; the others, cookies among them, are not recorded."""

_NOWHERE: Final = "http://cassette.invalid/v1/messages"


def recorded(client: AsyncAnthropic, recorder: Recorder) -> AsyncAnthropic:
    """The client, recording all its requests and answers.

    An answer is recorded when its last byte has arrived or it broke off, not when the caller cancelled it.
    """

    async def record(request: Any, call_next: Next) -> Any:
        call = WIRE_CALL.get() or WireCall()
        call.body = body = json.loads(request.options.content)

        def write(answer: dict[str, Any]) -> None:
            call.is_written = True
            recorder.write(body, answer)

        try:
            response = await call_next(request)
        except anthropic.APIConnectionError as error:
            write({"failure": _failure(error.__cause__ or error, recorder.cleaner)})
            raise
        raw = response.http_response

        def ended(data: bytes, error: BaseException | None) -> None:
            failure = {} if error is None else {"failure": _failure(error, recorder.cleaner)}
            write({**_answer(raw, data, recorder.cleaner), **failure})

        if raw.is_stream_consumed:
            ended(raw.content, None)
        else:
            raw.stream = _RecordedStream(raw, ended)
        return response

    return client.with_middleware(record)


def played(client: AsyncAnthropic, tape: Tape) -> AsyncAnthropic:
    """The client, with every answer from the cassette and without network access."""

    async def play(request: Any, call_next: Next) -> Any:
        exchange = tape.take(json.loads(request.options.content))
        answer = exchange.answer
        sent = httpx2.Request("POST", _NOWHERE)
        failure = answer.get("failure")
        if "status" not in answer:
            raise _connection_error(_exception(answer["failure"]), sent)
        data = _body(answer, tape.cleaner)
        raw = httpx2.Response(
            answer["status"],
            headers={str(name): str(value) for name, value in answer.get("headers", {}).items()},
            stream=_PlayedStream(data, None if failure is None else _exception(failure)),
            request=sent,
        )
        return AsyncAPIResponse(
            raw=raw,
            client=client,
            cast_to=request.cast_to,
            stream=request.stream,
            stream_cls=request.stream_cls,
            options=request.options,
        )

    return client.with_middleware(play)


# ---------------------------------------------------------------- answers as data


def _answer(raw: httpx2.Response, data: bytes, cleaner: Cleaner) -> dict[str, Any]:
    """Status, headers and body; the body decompressed, as text if it is UTF-8, else in base64."""
    headers = {name: cleaner.clean(raw.headers[name]) for name in KEPT_HEADERS if name in raw.headers}
    plain = _decoded(raw, data)
    try:
        text = plain.decode("utf-8")
    except UnicodeDecodeError:
        bare = cleaner.clean(plain.decode("latin-1")).encode("latin-1")
        return {"status": raw.status_code, "headers": headers, "body_base64": base64.b64encode(bare).decode("ascii")}
    body = cleaned(text, cleaner)
    told = readable_content(body)
    return {"status": raw.status_code, "headers": headers, **({"says": told} if told else {}), "body": body}


def _decoded(raw: httpx2.Response, data: bytes) -> bytes:
    encoding = raw.headers.get("content-encoding")
    if encoding is None:
        return data
    try:
        return httpx2.Response(200, headers={"content-encoding": encoding}, content=data).content
    except httpx2.DecodingError:
        return data


def _body(answer: Mapping[str, Any], cleaner: Cleaner) -> bytes:
    if "body_base64" in answer:
        return base64.b64decode(answer["body_base64"])
    return restored(answer.get("body", ""), cleaner).encode("utf-8")


def _failure(error: BaseException, cleaner: Cleaner) -> dict[str, str]:
    return {"type": type(error).__name__, "message": cleaner.clean(str(error))}


def _exception(failure: Mapping[str, Any]) -> httpx2.HTTPError:
    """The transport's exception by its recorded name; a NetworkError where the name is unknown."""
    kind = getattr(httpx2, str(failure.get("type")), None)
    message = str(failure.get("message", ""))
    if isinstance(kind, type) and issubclass(kind, httpx2.TransportError):
        return kind(message)
    return httpx2.NetworkError(message)


def _connection_error(error: httpx2.HTTPError, sent: httpx2.Request) -> anthropic.APIConnectionError:
    """The SDK's exception for a call without an answer."""
    is_timeout = isinstance(error, httpx2.TimeoutException)
    told = anthropic.APITimeoutError(request=sent) if is_timeout else anthropic.APIConnectionError(request=sent)
    told.__cause__ = error
    return told


# ---------------------------------------------------------------- streams


class _RecordedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, passed on and collected until the last one."""

    def __init__(self, raw: httpx2.Response, ended: Callable[[bytes, BaseException | None], None]) -> None:
        assert isinstance(raw.stream, httpx2.AsyncByteStream)
        self._raw, self._stream, self._ended = raw, raw.stream, ended
        self._pieces: list[bytes] = []
        self._is_told = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                self._pieces.append(piece)
                yield piece
        except httpx2.TransportError as error:
            self._tell(error)
            raise
        self._tell(None)

    async def aclose(self) -> None:
        await self._stream.aclose()
        # The reader of a stream stops at an error in it, and at a line that it cannot read: the answer is then
        # complete, too.
        text = _decoded(self._raw, b"".join(self._pieces)).decode("utf-8", "replace")
        if is_complete_stream(text):
            self._tell(None)

    def _tell(self, error: BaseException | None) -> None:
        if not self._is_told:
            self._is_told = True
            self._ended(b"".join(self._pieces), error)


class _PlayedStream(httpx2.AsyncByteStream):
    """Recorded bytes, followed by the recorded failure if there was one."""

    def __init__(self, data: bytes, failure: httpx2.HTTPError | None) -> None:
        self._data, self._failure = data, failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._data:
            yield self._data
        if self._failure is not None:
            raise self._failure
