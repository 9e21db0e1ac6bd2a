"""The scripted provider keeps every promise of the Provider port."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario_file import parse_scenario
from rawko.runtime.ports import Provider
from rawko.testing.conformance.providers import PROVIDER_CONTRACTS, PURPOSE, Contract, Play


class ScriptedHarness:
    """Writes the plays as a scenario file's text, and reads that."""

    def __init__(self) -> None:
        self._provider: ScriptedProvider | None = None

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        text = json.dumps({"scenario": "plays", "replies": [_reply(play) for play in plays]}, ensure_ascii=False)
        self._provider = ScriptedProvider(parse_scenario(text))
        yield self._provider
        await self._provider.aclose()

    @property
    def tries(self) -> int:
        return sum(self._provider.position()["taken"].values()) if self._provider else 0


def _reply(play: Play) -> dict[str, Any]:
    reply: dict[str, Any] = {"purpose": PURPOSE, "text": play.text, "thinking": play.thinking}
    reply["delay"] = f"{play.delay_ms}ms"
    if play.failure is not None:
        retry_after = {} if play.retry_after_ms is None else {"retry_after": f"{play.retry_after_ms}ms"}
        return reply | {"error": {"code": play.failure, **retry_after}}
    reply["tool_calls"] = [{"name": name, "input": value} for name, value in play.tool_calls]
    return reply | {"usage": play.usage.model_dump(exclude={"calls"})}


@pytest.mark.parametrize("contract", PROVIDER_CONTRACTS, ids=str)
async def test_contract(contract: Contract) -> None:
    await contract.check(ScriptedHarness())
