"""One budget for many runs at once: calls are held before they are made, so that together they do not overspend."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.providers.metering.account import Account, Bounds, sent_tokens
from rawko.providers.metering.metered import MeteredProvider
from rawko.runtime.ports import ModelRequest, ProviderError, StreamEvent, TurnDone
from rawko.vocabulary.budget import Budget
from rawko.vocabulary.messages import Message, user_text
from rawko.vocabulary.usage import Price, Usage

REQUEST = ModelRequest(purpose="agent:a", model="m", system="s", messages=(user_text("go"),), max_tokens=500)
PRICE = Price(input=3, output=15)


class Slow:
    """A model that says as much as it may, after some turns of the event loop."""

    name = "slow"

    def __init__(self, input_tokens: int, turns: int) -> None:
        self.input_tokens, self.turns = input_tokens, turns
        self.running = self.most_running = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        yield await self.create(request)

    async def create(self, request: ModelRequest) -> TurnDone:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            for _ in range(self.turns):
                await asyncio.sleep(0)
        finally:
            self.running -= 1
        usage = Usage(input_tokens=self.input_tokens, output_tokens=request.max_tokens, calls=1)
        return TurnDone(Message(role="assistant", content=()), "end_turn", usage, request.model)

    async def aclose(self) -> None:
        """Nothing is held open."""


async def until_refused(meter: MeteredProvider, request: ModelRequest, *, is_streamed: bool) -> int:
    """How many calls one run makes until the budget refuses one."""
    for count in range(1000):
        try:
            if is_streamed:
                async for _ in meter.stream(request):
                    pass
            else:
                await meter.create(request)
        except ProviderError as error:
            assert error.code == "budget"
            return count
    raise AssertionError("no call was refused")


@settings(max_examples=40, deadline=None)
@given(
    runs=st.integers(2, 8),
    input_tokens=st.integers(0, 900),
    max_tokens=st.integers(100, 3000),
    turns=st.integers(0, 5),
    tokens=st.none() | st.integers(1, 30_000),
    cost_usd=st.floats(0.001, 0.08),
    is_streamed=st.booleans(),
)
def test_many_runs_together_spend_no_more_than_one(
    runs: int,
    input_tokens: int,
    max_tokens: int,
    turns: int,
    tokens: int | None,
    cost_usd: float,
    is_streamed: bool,
) -> None:
    """What a call sends is known to the server alone: by that of the last call, and no more, the budget is exceeded."""
    inner = Slow(input_tokens, turns)
    top = Account(Bounds(Budget(tokens=tokens, cost_usd=cost_usd), {"m": PRICE}))
    request = replace(REQUEST, max_tokens=max_tokens)
    assert sent_tokens(request) >= input_tokens

    async def spend() -> None:
        meters = [MeteredProvider(inner, account=top.of(f"r{number}")) for number in range(runs)]
        await asyncio.gather(*(until_refused(meter, request, is_streamed=is_streamed) for meter in meters))

    asyncio.run(spend())
    if tokens is not None:
        assert top.total.total_tokens <= tokens + input_tokens
    assert (top.spent_usd() or 0) <= cost_usd + input_tokens * PRICE.input / 1_000_000 + 1e-9


async def test_calls_that_fit_are_made_at_once_and_the_last_ones_one_by_one() -> None:
    room = 3 * (sent_tokens(REQUEST) + REQUEST.max_tokens)
    inner = Slow(10, 3)
    top = Account(Bounds(Budget(tokens=room)))
    meters = [MeteredProvider(inner, account=top.of(str(number))) for number in range(5)]
    await asyncio.gather(*(meter.create(REQUEST) for meter in meters))
    assert inner.most_running == 3
    assert top.total.total_tokens == 5 * 510


async def test_a_call_that_is_stopped_lets_the_next_one_pass() -> None:
    inner = Slow(10, 1_000_000)
    top = Account(Bounds(Budget(tokens=600)))
    first = asyncio.ensure_future(MeteredProvider(inner, account=top.of("a")).create(REQUEST))
    await asyncio.sleep(0.01)
    second = asyncio.ensure_future(MeteredProvider(Slow(10, 0), account=top.of("b")).create(REQUEST))
    await asyncio.sleep(0.01)
    assert inner.running == 1 and not second.done()
    first.cancel()
    assert (await second).usage.output_tokens == 500


async def test_the_usage_of_runs_below_is_noted_and_taken_up() -> None:
    top = Account(Bounds(Budget(tokens=100_000), {"m": PRICE}))
    below = top.of("run-a")
    for account in (top, below, below.of("run-a-b")):
        await MeteredProvider(Slow(10, 0), account=account).create(REQUEST)
    again = Account(top.bounds)
    again.take_up(json.loads(json.dumps(top.notes())))
    assert again.total == top.total and again.total.calls == 3
    assert again.of("run-a").total.calls == 2 and again.of("run-a").top is again
    assert again.spent_usd() == pytest.approx(3 * (10 * 3 + 500 * 15) / 1_000_000)


async def test_a_run_below_is_refused_by_what_the_others_have_used() -> None:
    top = Account(Bounds(Budget(tokens=510)))
    await MeteredProvider(Slow(10, 0), account=top.of("a")).create(REQUEST)
    with pytest.raises(ProviderError, match="510 of 510 tokens"):
        await MeteredProvider(Slow(10, 0), account=top.of("b")).create(REQUEST)
