"""Bounds the size of answers: bytes are counted as they arrive and as they are unpacked, before they are stored.

A server may send an endless answer, or a few bytes that unpack to gigabytes. `bounded` is a hook of the transport: it
wraps the body of an answer and unpacks it in small steps.

    answer, unpacked         at most MAX_ANSWER_BYTES, then AnswerTooLargeError
    one event of a stream    at most MAX_EVENT_BYTES and MAX_EVENT_LINES (the SDK copies an event with each line of it)
    an error's body          cut off after MAX_ERROR_BYTES: the status already tells what happened
    gzip, deflate            unpacked here; other encodings were not requested and are refused
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import httpx2

MAX_ANSWER_BYTES: Final = 64_000_000
"""An answer of 128 000 tokens, each in an event of its own, has about 20 MB."""
MAX_EVENT_BYTES: Final = 8_000_000
MAX_EVENT_LINES: Final = 400
MAX_ERROR_BYTES: Final = 256_000
ACCEPTED_ENCODINGS: Final = "gzip, deflate"

_STEP: Final = 65_536
_EVENT_END: Final = re.compile(rb"\n\n|\r\r|\r\n\r\n")


class AnswerTooLargeError(Exception):
    """The server's answer is too large, or has an encoding that was not requested."""


async def bounded(response: httpx2.Response) -> None:
    """Hook for a response before its body is read: bounds and unpacks the body."""
    encodings = [value.strip().lower() for value in response.headers.get("content-encoding", "").split(",")]
    packed = [encoding for encoding in encodings if encoding not in ("", "identity")]
    stream = response.stream
    if isinstance(stream, httpx2.AsyncByteStream) and not response.is_stream_consumed:
        response.stream = _Body(stream, packed, is_error=response.status_code >= 400)
        if packed:
            del response.headers["content-encoding"]


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, unpacked and counted."""

    def __init__(self, stream: httpx2.AsyncByteStream, packed: list[str], *, is_error: bool) -> None:
        self._stream = stream
        self._packed = packed
        self._is_error = is_error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = _Unpacker(self._packed)
        events = _Events()
        left = MAX_ERROR_BYTES if self._is_error else MAX_ANSWER_BYTES
        async for piece in self._stream:
            for part in unpack(piece):
                left -= len(part)
                if self._is_error:
                    yield part[: len(part) + min(left, 0)]
                    if left <= 0:
                        return
                    continue
                if left < 0:
                    raise AnswerTooLargeError(f"the answer has more than {MAX_ANSWER_BYTES:,} bytes")
                if whole := events.feed(part):
                    yield whole
        if rest := events.rest():
            yield rest

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Events:
    """Passes on whole events only: with each piece and each line of an event, the SDK copies the event's earlier
    part."""

    def __init__(self) -> None:
        self._open = bytearray()

    def feed(self, part: bytes) -> bytes:
        """The events that end in this part, each with its earlier bytes.

        Raises:
            AnswerTooLargeError: An event is too large.
        """
        searched = max(len(self._open) - 3, 0)
        self._open += part
        start = 0
        for found in _EVENT_END.finditer(self._open, searched):
            self._check(start, found.end())
            start = found.end()
        self._check(start, len(self._open))
        whole = bytes(self._open[:start])
        del self._open[:start]
        return whole

    def rest(self) -> bytes:
        """The bytes after the last whole event."""
        return bytes(self._open)

    def _check(self, start: int, end: int) -> None:
        if end - start > MAX_EVENT_BYTES:
            raise AnswerTooLargeError(f"one event of the answer has more than {MAX_EVENT_BYTES:,} bytes")
        if end - start > MAX_EVENT_LINES:
            lines = self._open.count(b"\n", start, end) + self._open.count(b"\r", start, end)
            if lines > MAX_EVENT_LINES:
                raise AnswerTooLargeError(f"one event of the answer has more than {MAX_EVENT_LINES} lines")


class _Unpacker:
    """Unpacks in steps of bounded size, whatever the compression ratio.

    Raises:
        AnswerTooLargeError: The encoding was not requested.
    """

    def __init__(self, packed: list[str]) -> None:
        if len(packed) > 1 or any(encoding not in ("gzip", "x-gzip", "deflate") for encoding in packed):
            raise AnswerTooLargeError(f"the answer is packed as {', '.join(packed)!r}; accepted: {ACCEPTED_ENCODINGS}")
        self._encoding = packed[0] if packed else ""
        self._worker: Any = None
        if self._encoding.endswith("gzip"):
            self._worker = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def __call__(self, piece: bytes) -> Iterator[bytes]:
        """Raises:
        httpx2.DecodingError: The bytes do not fit the encoding that the server names.
        """
        if not self._encoding:
            yield from (piece[start : start + _STEP] for start in range(0, len(piece), _STEP))
            return
        if self._worker is None and piece:  # deflate should have zlib's header, and some servers omit it
            has_head = piece[0] & 0x0F == 8
            self._worker = zlib.decompressobj(zlib.MAX_WBITS if has_head else -zlib.MAX_WBITS)
        try:
            while piece and self._worker is not None and not self._worker.eof:
                part = self._worker.decompress(piece, _STEP)
                piece = self._worker.unconsumed_tail
                if part:
                    yield part
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from error
