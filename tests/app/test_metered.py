"""Counting tokens: every try, failed ones included, and what they cost."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from rawko.providers.metered import MeteredProvider
from rawko.providers.scenario_file import parse_scenario
from rawko.providers.scripted import ScriptedProvider
from rawko.runtime.ports import ModelRequest, ProviderError
from rawko.vocabulary.messages import user_text
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
