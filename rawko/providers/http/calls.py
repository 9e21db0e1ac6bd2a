"""One call: opened when its first event is read, bounded as a whole, with failures as ProviderErrors. Uses no SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Final, Protocol

from rawko.runtime.ports import ProviderError, StreamEvent, TurnDone
from rawko.vocabulary.usage import Usage

_END: Final = object()


class Answer(Protocol):
    """The SDK's stream of events."""

    def __aiter__(self) -> AsyncIterator[object]: ...

    async def close(self) -> None:
        """Close the connection if the answer has not ended."""


class Reader(Protocol):
    """Assembles an answer from its events."""

    @property
    def usage(self) -> Usage:
        """The usage known so far."""
        ...

    def read(self, event: object) -> StreamEvent | None:
        """Take one event; returns its delta, if it has one for the reader of the stream."""
        ...

    def done(self) -> TurnDone:
        """The whole answer."""
        ...


class Classify(Protocol):
    """Maps an SDK's exceptions to ProviderErrors; None where the exception is no failure of a call."""

    def __call__(self, error: Exception, *, usage: Usage) -> ProviderError | None: ...


async def answered(
    open_answer: Callable[[], Awaitable[Answer]], reader: Reader, classify: Classify, *, whole_ms: int
) -> AsyncGenerator[StreamEvent, None]:
    """The events of one call: deltas as they arrive, then the TurnDone. Closing the generator closes the connection.

    The transport bounds silences.

    Args:
        open_answer: Sends the request.
        whole_ms: Bound of the whole call.

    Raises:
        ProviderError: The call failed.
    """
    call = _Call(open_answer, reader, classify, whole_ms / 1000)
    try:
        while not isinstance(event := await call.next(), TurnDone):
            yield event
        yield event
    finally:
        await call.close()


async def whole(events: AsyncGenerator[StreamEvent, None]) -> TurnDone:
    """The TurnDone at the end of a stream, which has the whole answer."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TurnDone):
                return event
    raise AssertionError("a stream ends with TurnDone or raises")


class _Call:
    def __init__(
        self, open_answer: Callable[[], Awaitable[Answer]], reader: Reader, classify: Classify, whole_s: float
    ) -> None:
        self._open, self._reader, self._classify, self._whole_s = open_answer, reader, classify, whole_s
        self._ends_at = asyncio.get_running_loop().time() + whole_s
        self._answer: Answer | None = None
        self._events: AsyncIterator[object] | None = None

    async def next(self) -> StreamEvent:
        try:
            return await self._next()
        except Exception as error:
            failure = self._classify(error, usage=self._reader.usage)
            if failure is None:
                raise
            raise failure from error

    async def close(self) -> None:
        if self._answer is not None:
            await self._answer.close()

    async def _next(self) -> StreamEvent:
        async with self._in_time():
            if self._events is None:
                self._answer = await self._open()
                self._events = aiter(self._answer)
            while (event := await anext(self._events, _END)) is not _END:
                if (delta := self._reader.read(event)) is not None:
                    return delta
        return self._reader.done()

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Bound one wait by the call's end.

        Each wait has a bound of its own, not the generator as a whole: a timeout that is open across a `yield` would
        cancel the code that reads the stream.
        """
        try:
            async with asyncio.timeout_at(self._ends_at):
                yield
        except TimeoutError as error:
            raise TimeoutError(f"no end within {self._whole_s:g} s") from error
