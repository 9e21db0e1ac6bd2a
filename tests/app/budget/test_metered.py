"""Counting tokens: every try, failed ones included, and what they cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from rawko.providers.metering.account import Bounds
from rawko.providers.metering.metered import MeteredProvider
from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario_file import parse_scenario
from rawko.runtime.ports import ModelRequest, ProviderError, StopReason, StreamEvent, TurnDone
from rawko.vocabulary.budget import Budget
from rawko.vocabulary.errors import ProviderCode
from rawko.vocabulary.messages import Message, user_text
from rawko.vocabulary.usage import Price, Usage

SCENARIO = """\
scenario: s
model: answering
replies:
  - {purpose: select, text: one, usage: {input_tokens: 1000000, output_tokens: 100000}}
  - {purpose: select, error: {code: overloaded}, usage: {input_tokens: 500000}}
  - {purpose: select, text: two words, usage: {cache_read_tokens: 2000000}}
"""
REQUEST = ModelRequest(purpose="select", model="asked", system="s", messages=(user_text("go"),))
PRICE = Price(input=3, output=15, cache_read=0.3)


@pytest.fixture
async def played() -> MeteredProvider:
    """A provider after three calls: whole, failed, streamed."""
    provider = MeteredProvider(ScriptedProvider(parse_scenario(SCENARIO)))
    await provider.create(REQUEST)
    with pytest.raises(ProviderError):
        await provider.create(REQUEST)
    async with aclosing(provider.stream(REQUEST)) as events:  # type: ignore[type-var]
        assert len([event async for event in events]) == 3
    await provider.aclose()
    return provider


async def test_every_try_counts(played: MeteredProvider) -> None:
    total = Usage(input_tokens=1_500_000, output_tokens=100_000, cache_read_tokens=2_000_000, calls=3)
    assert played.total == total
    assert {name: usage.calls for name, usage in played.usage.items()} == {"answering": 2, "asked": 1}


@pytest.mark.parametrize(
    ("prices", "default", "cost"),
    [
        ({"answering": PRICE, "asked": PRICE}, None, 4.5 + 1.5 + 0.6),
        ({"asked": PRICE}, None, 4.5 + 1.5 + 0.6),
        ({"answering": PRICE}, None, None),
        ({"answering": PRICE}, Price(input=0, output=0), 4.5 + 0.6),
        ({}, None, None),
    ],
)
async def test_cost(
    played: MeteredProvider, prices: dict[str, Price], default: Price | None, cost: float | None
) -> None:
    """By the name that answered, else by the one that was asked for; unknown where one of them has no price."""
    assert played.cost_usd(prices, default=default) == (None if cost is None else pytest.approx(cost))


async def test_nothing_costs_nothing() -> None:
    assert MeteredProvider(ScriptedProvider(parse_scenario(SCENARIO))).cost_usd({}) == 0


# ---------------------------------------------------------------- what is left bounds the answer


class Talker:
    """A model that says as much as it may."""

    name = "talker"

    def __init__(self, input_tokens: int) -> None:
        self.input_tokens = input_tokens
        self.asked: list[int] = []
        self.stop_reason: StopReason = "max_tokens"

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        yield await self.create(request)

    async def create(self, request: ModelRequest) -> TurnDone:
        self.asked.append(request.max_tokens)
        usage = Usage(input_tokens=self.input_tokens, output_tokens=request.max_tokens, calls=1)
        return TurnDone(Message(role="assistant", content=()), self.stop_reason, usage, request.model)

    async def aclose(self) -> None:
        """Nothing is held open."""


def metered(talker: Talker, budget: Budget, price: Price = PRICE) -> MeteredProvider:
    return MeteredProvider(talker, bounds=Bounds(budget, {"asked": price}))


async def streamed(provider: MeteredProvider, request: ModelRequest) -> TurnDone:
    async with aclosing(provider.stream(request)) as events:  # type: ignore[type-var]
        (done,) = [event async for event in events]
    assert isinstance(done, TurnDone)
    return done


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize(
    ("budget", "bounds"),
    [
        (Budget(), [1000, 1000, 1000]),
        (Budget(cost_usd=100), [1000, 1000, 1000]),
        (Budget(cost_usd=0.0390), [1000, 1000, 200]),
        (Budget(tokens=2500), [1000, 1000, 300]),
        (Budget(tokens=2500, cost_usd=0.0390), [1000, 1000, 200]),
    ],
)
async def test_no_call_overspends_by_more_than_what_it_sends(
    budget: Budget, bounds: list[int], is_streamed: bool
) -> None:
    """A call of 100 tokens that answers with 1000 costs $0.018 at these prices."""
    talker = Talker(100)
    price = Price(input=30, output=15)
    provider, request = metered(talker, budget, price), replace(REQUEST, max_tokens=1000)
    ask = streamed if is_streamed else MeteredProvider.create
    for _ in range(2):
        await ask(provider, request)
    talker.stop_reason = "end_turn"
    await ask(provider, request)
    assert talker.asked == bounds
    if budget.cost_usd is not None:
        assert (provider.cost_usd({"asked": price}) or 0) <= budget.cost_usd + 100 * 30 / 1_000_000 + 1e-9
    if budget.tokens is not None:
        assert provider.total.total_tokens <= budget.tokens + 100


class Failing(Talker):
    """A provider whose calls fail and ask to wait."""

    def __init__(self, code: ProviderCode, retry_after_ms: int | None) -> None:
        super().__init__(1)
        self.error = ProviderError("slow down", code=code, retry_after_ms=retry_after_ms)

    async def create(self, request: ModelRequest) -> TurnDone:
        raise self.error


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize(
    ("code", "retry_after_ms", "spent_ms", "told"),
    [
        ("rate_limited", 99_999_999_000, 0, "budget"),  # capped, and still longer than a minute
        ("overloaded", 61_000, 0, "budget"),
        ("rate_limited", 31_000, 30_000, "budget"),
        ("rate_limited", 29_000, 30_000, "rate_limited"),
        ("network_error", None, 59_500, "budget"),
        ("network_error", None, 30_000, "network_error"),
        ("authentication", None, 59_500, "authentication"),
    ],
)
async def test_no_wait_outlasts_the_budget(
    code: ProviderCode, retry_after_ms: int | None, spent_ms: int, told: str, is_streamed: bool
) -> None:
    bounds = Bounds(Budget(time="1m"), elapsed_ms=lambda: spent_ms)
    provider = MeteredProvider(Failing(code, retry_after_ms), bounds=bounds)
    with pytest.raises(ProviderError) as caught:
        await (streamed(provider, REQUEST) if is_streamed else provider.create(REQUEST))
    assert caught.value.code == told
    assert caught.value.message.startswith("slow down")
    assert ("the next try would be due in" in caught.value.message) == (told == "budget")


async def test_half_an_answer_that_the_budget_cut_off_is_refused_and_counted() -> None:
    talker = Talker(0)
    provider = metered(talker, Budget(cost_usd=0.02), Price(input=3, output=15))
    await provider.create(replace(REQUEST, max_tokens=1000))
    for ask in (streamed, MeteredProvider.create):
        with pytest.raises(ProviderError, match=r"\$0\.0200 of \$0\.02") as told:
            await ask(provider, replace(REQUEST, max_tokens=1000))
        assert told.value.code == "budget"
    assert talker.asked == [1000, 333], "the third was not made"
    assert provider.total == Usage(output_tokens=1333, calls=2)


async def test_an_answer_that_costs_nothing_is_not_bounded_by_money() -> None:
    talker = Talker(100)
    provider = metered(talker, Budget(cost_usd=1e-9), Price(input=0, output=0))
    await provider.create(REQUEST)
    assert talker.asked == [REQUEST.max_tokens]
