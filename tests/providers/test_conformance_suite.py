"""The Provider port's contracts can fail: each wrong adapter here is caught by the contract it breaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario_file import parse_scenario
from rawko.runtime.ports import (
    ModelRequest,
    Provider,
    ProviderError,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TurnDone,
)
from rawko.testing.conformance.providers import PROVIDER_CONTRACTS, PURPOSE, Contract, Play
from rawko.vocabulary.messages import Message
from rawko.vocabulary.usage import Usage


class Right(ScriptedProvider):
    """What the wrong ones are derived from; calls are counted on entry."""

    tries = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self.tries += 1
        async for event in super().stream(request):
            yield self.change(event)

    async def create(self, request: ModelRequest) -> TurnDone:
        self.tries += 1
        done = self.change(await super().create(request))
        assert isinstance(done, TurnDone)
        return done

    def change(self, event: StreamEvent) -> StreamEvent:
        return event


class Nameless(Right):
    name = ""


class EndsTwice(Right):
    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        async for event in super().stream(request):
            yield event
            if isinstance(event, TurnDone):
                yield event


class TrimsText(Right):
    def change(self, event: StreamEvent) -> StreamEvent:
        return TextDelta(event.text.strip()) if isinstance(event, TextDelta) else event


class RepeatsIds(Right):
    def change(self, event: StreamEvent) -> StreamEvent:
        if not isinstance(event, TurnDone):
            return event
        return with_blocks(event, [{**block, "id": "same"} if "id" in block else block for block in blocks(event)])


class StreamsAnotherMessage(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        done = await super().create(request)
        return with_blocks(done, blocks(done)[1:])


class ForgetsTheCache(Right):
    def change(self, event: StreamEvent) -> StreamEvent:
        if not isinstance(event, TurnDone):
            return event
        kept = event.usage.model_dump(exclude={"cache_read_tokens", "cache_write_tokens"})
        return replace(event, usage=Usage(**kept))


class LosesThinking(Right):
    def change(self, event: StreamEvent) -> StreamEvent:
        if isinstance(event, ThinkingDelta):
            return TextDelta("")
        return event


class HidesRetryAfter(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        try:
            return await super().create(request)
        except ProviderError as error:
            raise ProviderError(error.message, code=error.code, status=error.status) from error


class Retries(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        try:
            return await super().create(request)
        except ProviderError:
            return await super().create(request)


class SwallowsBrokenStreams(Right):
    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        try:
            async for event in super().stream(request):
                yield event
        except ProviderError:
            return


class IsBusyForEver(Right):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lock = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        await self._lock.acquire()
        async for event in super().stream(request):
            yield event
        self._lock.release()

    async def create(self, request: ModelRequest) -> TurnDone:
        if self._lock.locked():
            raise ProviderError("busy", code="server_error")
        return await super().create(request)


class CallsTimeoutsSomethingElse(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        try:
            return await super().create(request)
        except ProviderError as error:
            raise ProviderError(error.message, code="network_error") from error


class TurnsCancelsIntoErrors(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        try:
            return await super().create(request)
        except asyncio.CancelledError:
            return TurnDone(Message(role="assistant", content=()), "end_turn", Usage(), "m")


class ValidatesDecisions(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        done = await super().create(request)
        if request.output_schema is not None:
            try:
                json.loads(done.message.text)
            except ValueError as error:
                raise ProviderError("not JSON", code="malformed") from error
        return done


class RefusesItsOwnAnswers(Right):
    async def create(self, request: ModelRequest) -> TurnDone:
        if len(request.messages) > 1:
            raise ProviderError("odd blocks", code="invalid_request")
        return await super().create(request)


class ClosesOnce(Right):
    is_closed = False

    async def aclose(self) -> None:
        if self.is_closed:
            raise RuntimeError("closed already")
        self.is_closed = True


def blocks(done: TurnDone) -> list[dict[str, Any]]:
    return list(done.message.content)


def with_blocks(done: TurnDone, content: list[dict[str, Any]]) -> TurnDone:
    return replace(done, message=Message(role="assistant", content=tuple(content)))


class WrongHarness:
    def __init__(self, kind: type[Right]) -> None:
        self._kind = kind
        self._provider: Right | None = None

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        text = json.dumps({"scenario": "p", "replies": [reply(play) for play in plays]}, ensure_ascii=False)
        self._provider = self._kind(parse_scenario(text))
        yield self._provider

    @property
    def tries(self) -> int:
        return self._provider.tries if self._provider else 0


def reply(play: Play) -> dict[str, Any]:
    said: dict[str, Any] = {"purpose": PURPOSE, "text": play.text, "thinking": play.thinking}
    said["delay"] = f"{play.delay_ms}ms"
    if play.failure is not None:
        return said | {"error": {"code": play.failure, "retry_after": f"{play.retry_after_ms or 0}ms"}}
    calls = [{"name": name, "input": value} for name, value in play.tool_calls]
    return said | {"tool_calls": calls, "usage": play.usage.model_dump(exclude={"calls"})}


WRONG: dict[str, type[Right]] = {
    "P-01": Nameless,
    "P-02": EndsTwice,
    "P-03": TrimsText,
    "P-04": RepeatsIds,
    "P-05": StreamsAnotherMessage,
    "P-06": ForgetsTheCache,
    "P-07": LosesThinking,
    "P-08": HidesRetryAfter,
    "P-09": Retries,
    "P-10": SwallowsBrokenStreams,
    "P-11": IsBusyForEver,
    "P-12": CallsTimeoutsSomethingElse,
    "P-13": TurnsCancelsIntoErrors,
    "P-14": ValidatesDecisions,
    "P-15": RefusesItsOwnAnswers,
    "P-16": ClosesOnce,
}


def test_every_contract_has_its_wrong_adapter() -> None:
    assert [contract.number for contract in PROVIDER_CONTRACTS] == list(WRONG)


@pytest.mark.parametrize("contract", PROVIDER_CONTRACTS, ids=str)
async def test_a_wrong_adapter_is_caught(contract: Contract) -> None:
    await contract.check(WrongHarness(Right))
    with pytest.raises(AssertionError, match=contract.number):
        await contract.check(WrongHarness(WRONG[contract.number]))
