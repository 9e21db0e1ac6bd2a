"""Nothing outlasts the time budget: calls of a model that stalls, and waits before the arbiter is asked again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rawko.app import Run
from rawko.app.run.budget import Stopwatch
from rawko.config import Flags, load_settings
from rawko.providers.anthropic.api import AnthropicProvider
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.providers.metering.account import Bounds
from rawko.providers.metering.metered import MeteredProvider
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.ports import ModelRequest, ProviderError
from rawko.vocabulary.budget import Budget
from rawko.vocabulary.messages import user_text
from tests.app.budget.hand_clock import Hand
from tests.cli.shell import picks

REQUEST = ModelRequest(purpose="select", model="m", system="s", messages=(user_text("go"),), max_tokens=100)
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def stalling(said: bytes) -> AsyncIterator[str]:
    """The address of a server that answers every request with `said`, and then with nothing more."""
    over = asyncio.Event()
    answering: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.append(asyncio.current_task())
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            await writer.drain()
            await over.wait()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        over.set()
        server.close()
        await asyncio.gather(*filter(None, answering), return_exceptions=True)  # each closes its connection
        await asyncio.sleep(0)


@pytest.mark.parametrize("said", [b"", HEADERS], ids=["silent", "begun"])
@pytest.mark.parametrize("is_streamed", [True, False], ids=["stream", "create"])
@pytest.mark.parametrize(
    ("timeout_ms", "left_ms", "asked_ms", "bound", "code"),
    [
        (300, 500_000, None, "0.3 s", "timeout"),
        (500_000, 400, None, "0.4 s", "budget"),
        (500_000, 500_000, 350, "0.35 s", "timeout"),
        (500_000, 450, 500_000, "0.45 s", "budget"),
        (250, None, None, "0.25 s", "timeout"),
    ],
    ids=["timeout", "time left", "request", "time left, request", "no budget"],
)
async def test_the_smaller_of_timeout_and_time_left_bounds_a_call(
    timeout_ms: int, left_ms: int | None, asked_ms: int | None, bound: str, code: str, is_streamed: bool, said: bytes
) -> None:
    budget = Budget() if left_ms is None else Budget(time="600s")
    bounds = Bounds(budget, elapsed_ms=lambda: 600_000 - (left_ms or 0))
    request = ModelRequest(**{**{name: getattr(REQUEST, name) for name in REQUEST.__slots__}, "timeout_ms": asked_ms})
    async with stalling(said) as address:
        inner = AnthropicProvider(Endpoint(base_url=address, api_key="k", timeout_ms=timeout_ms))
        provider = MeteredProvider(inner, bounds=bounds)
        try:
            async with asyncio.timeout(600):
                with pytest.raises(ProviderError) as caught:
                    if is_streamed:
                        async for _ in provider.stream(request):
                            pass
                    else:
                        await provider.create(request)
        finally:
            await provider.aclose()
    assert f"no end within {bound}" in caught.value.message
    assert caught.value.code == code


# ---------------------------------------------------------------- waits of the orchestrator


async def test_a_wait_of_the_orchestrator_that_does_not_fit_is_not_begun(tmp_path: Path) -> None:
    """The arbiter's decision is no use, 100 ms are left, and the wait takes at least 125 ms."""
    folder, hand = tmp_path / "project", Hand()
    folder.mkdir()
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(json.dumps({"scenario": "test", "replies": [picks("ghost")]}))

    def observe(event: InspectionEvent) -> None:
        if event["type"] == "emit" and event["event"] == "ARBITER_ERROR":
            hand.now += 9.9

    flags = Flags(scenario=str(scenario), assume_yes=True, budget=Budget(time="10s"))
    environ = {"RAWKO_STATE_DIR": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"}
    run = Run(load_settings(folder, flags, environ), "Work", observe=observe, _stopwatch=Stopwatch(hand))
    async with asyncio.timeout(600):
        report = await run.execute()
    assert (report.state, report.outcome) == ("out_of_budget", "limit")
    assert "the next try would be due in" in report.summary
    assert "the budget leaves 0.1 s of 10 s" in report.summary
    assert report.usage.calls == 1
