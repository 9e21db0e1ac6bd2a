"""A provider that counts and keeps to the budget: tokens by model, of every try, failed ones included.

Wraps any other provider. Every model call of a run passes here, whichever machine makes it, so this is the one place
where a budget is kept: a call is refused before it is made, with the code `budget`, and none may answer with more than
what is left pays for. What a call sends is known to the server alone: by that, the last one may go over.
"""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rawko.runtime.pacing import Pace
from rawko.runtime.ports import ModelRequest, Provider, ProviderError, StreamEvent, TurnDone
from rawko.vocabulary.budget import Budget
from rawko.vocabulary.errors import BACKOFF_CAP_MS, RETRY_AFTER_CAP_MS, RETRYABLE_CODES
from rawko.vocabulary.usage import Price, Usage

_BACKOFF_BASE_MS: Final = 1_000
"""First wait of the machines after a failed call, which doubles with each in a row."""
_ROUNDING: Final = 1e-6
"""Of a token: sums of prices are not exact."""


def _never() -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a meter measures against.

    Attributes:
        prices: By model, under the name that the server answers with or the one it was asked for with.
        default_price: For models that are not among them; None: their cost is not known.
        elapsed_ms: How long the run has been at work.
    """

    budget: Budget = field(default_factory=Budget)
    prices: Mapping[str, Price] = field(default_factory=dict)
    default_price: Price | None = None
    elapsed_ms: Callable[[], int] = _never


class MeteredProvider:
    """Passes calls on, keeps the sums, and refuses a call for which there is no budget.

    Args:
        inner: Who answers.
        on_usage: Told of every call's end: (model, its usage).
        bounds: Of the run; without them nothing is refused.
        pace: How many calls may be made in a minute; without it, as many as are asked for.
    """

    def __init__(
        self,
        inner: Provider,
        on_usage: Callable[[str, Usage], None] | None = None,
        *,
        bounds: Bounds | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._inner = inner
        self._on_usage = on_usage
        self._bounds = bounds or Bounds()
        self._pace = pace
        self.usage: dict[str, Usage] = {}
        self._asked_as: dict[str, str] = {}
        self._failures = 0
        self.name = inner.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        allowed = await self._admitted(request)
        try:
            async with aclosing(self._inner.stream(allowed)) as events:  # type: ignore[type-var]
                async for event in events:
                    if isinstance(event, TurnDone):
                        self._failures = 0
                        self._count(event.model, event.usage, asked_as=request.model)
                        self._check_whole(event, request, allowed)
                    yield event
        except ProviderError as error:
            self._count(request.model, error.usage, asked_as=request.model)
            self._check_wait(error)
            raise

    async def create(self, request: ModelRequest) -> TurnDone:
        allowed = await self._admitted(request)
        try:
            done = await self._inner.create(allowed)
        except ProviderError as error:
            self._count(request.model, error.usage, asked_as=request.model)
            self._check_wait(error)
            raise
        self._failures = 0
        self._count(done.model, done.usage, asked_as=request.model)
        self._check_whole(done, request, allowed)
        return done

    async def aclose(self) -> None:
        await self._inner.aclose()

    # ------------------------------------------------------------ the budget

    async def _admitted(self, request: ModelRequest) -> ModelRequest:
        """The request as `_allowed` bounds it, once the rate limit lets it pass.

        Raises:
            ProviderError: With the code `budget`: there is none for it, or not enough time for the wait.
        """
        allowed = self._allowed(request)
        if self._pace is None:
            return allowed
        if (problem := await self._pace.admit()) is not None:
            raise ProviderError(problem, code="budget")
        return self._allowed(request)

    def _allowed(self, request: ModelRequest) -> ModelRequest:
        """The request, bounded by the time that is left, and its answer by the tokens and the money.

        Raises:
            ProviderError: With the code `budget`: there is none for it.
        """
        if (problem := self.exhausted()) is not None:
            raise ProviderError(problem, code="budget")
        affordable = self._affordable(request.model)
        if affordable < 1:
            raise ProviderError(f"{self._used_up()}, and what is left pays for no answer.", code="budget")
        request = replace(request, max_tokens=min(request.max_tokens, affordable))
        most = self._bounds.budget.time_ms
        if most is None:
            return request
        left = max(1, most - self._bounds.elapsed_ms())
        return replace(request, timeout_ms=left if request.timeout_ms is None else min(left, request.timeout_ms))

    def _affordable(self, model: str) -> int:
        """Tokens of an answer for which there is a budget left."""
        budget, prices = self._bounds.budget, self._bounds.prices
        bounds = [sys.maxsize]
        if budget.tokens is not None:
            bounds.append(budget.tokens - self.total.total_tokens)
        price = prices.get(model) or self._bounds.default_price
        if budget.cost_usd is not None and price is not None and price.output > 0:
            left_usd = budget.cost_usd - (self.cost_usd(prices, default=self._bounds.default_price) or 0.0)
            bounds.append(math.floor(left_usd * 1_000_000 / price.output + _ROUNDING))
        return min(bounds)

    def _check_whole(self, done: TurnDone, request: ModelRequest, allowed: ModelRequest) -> None:
        """Refuse half an answer that the budget has cut off: with a larger one the whole of it is asked for again.

        Raises:
            ProviderError: With the code `budget`; its usage is counted already.
        """
        if done.stop_reason == "max_tokens" and allowed.max_tokens < request.max_tokens:
            raise ProviderError(f"{self._used_up()}; the last answer was cut off by that.", code="budget")

    def _check_wait(self, error: ProviderError) -> None:
        """Refuse a wait before the next try that outlasts the time that is left: it would end in a refusal anyway.

        Raises:
            ProviderError: With the code `budget`; the failed call's usage is counted already.
        """
        most = self._bounds.budget.time_ms
        if most is None or error.code not in RETRYABLE_CODES:
            return
        self._failures += 1
        own = min(BACKOFF_CAP_MS, _BACKOFF_BASE_MS << min(self._failures - 1, 16))
        wait = max(own, min(error.retry_after_ms or 0, RETRY_AFTER_CAP_MS))
        if (problem := self.no_time_for(wait)) is not None:
            raise ProviderError(f"{error.message}; {problem}", code="budget") from error

    def no_time_for(self, wait_ms: int) -> str | None:
        """That a wait before the next try outlasts the time that is left, in words; None where it does not."""
        most = self._bounds.budget.time_ms
        if most is None or wait_ms < (left := most - self._bounds.elapsed_ms()):
            return None
        told = f"the next try would be due in {wait_ms / 1000:g} s"
        return f"{told}, and the budget leaves {max(left, 0) / 1000:.1f} s of {most / 1000:g} s."

    def _used_up(self) -> str:
        budget, told = self._bounds.budget, []
        if budget.tokens is not None:
            told.append(f"{self.total.total_tokens:,} of {budget.tokens:,} tokens")
        if budget.cost_usd is not None:
            spent = self.cost_usd(self._bounds.prices, default=self._bounds.default_price) or 0.0
            told.append(f"${spent:.4f} of ${budget.cost_usd:g}")
        return f"The budget is used up: {' and '.join(told)}"

    def exhausted(self) -> str | None:
        """What of the budget is used up, in words for the user; None while there is some left."""
        return self.out_of_time() or self._out_of_tokens() or self._out_of_money()

    def out_of_time(self) -> str | None:
        """That the time is used up: the one bound that tools count against, too."""
        most = self._bounds.budget.time_ms
        if most is None or (spent := self._bounds.elapsed_ms()) < most:
            return None
        return f"The budget is used up: at work for {spent / 1000:.1f} s of {most / 1000:g} s."

    def _out_of_tokens(self) -> str | None:
        most, spent = self._bounds.budget.tokens, self.total.total_tokens
        return None if most is None or spent < most else f"The budget is used up: {spent:,} of {most:,} tokens."

    def _out_of_money(self) -> str | None:
        most = self._bounds.budget.cost_usd
        if most is None:
            return None
        spent = self.cost_usd(self._bounds.prices, default=self._bounds.default_price)
        if spent is None:
            unknown = ", ".join(sorted(self._unpriced()))
            return f"The cost is not known, but bounded to ${most:g}: there is no price for {unknown}."
        return None if spent < most else f"The budget is used up: ${spent:.4f} of ${most:g}."

    def _unpriced(self) -> list[str]:
        prices = self._bounds.prices
        return [
            model
            for model, usage in self.usage.items()
            if usage.total_tokens and model not in prices and self._asked_as[model] not in prices
        ]

    # ------------------------------------------------------------ the sums

    def notes(self) -> dict[str, Any]:
        """What has to be known to go on counting, and answering, from here: JSON."""
        position = getattr(self._inner, "position", None)
        return {
            "usage": {model: usage.to_json() for model, usage in self.usage.items()},
            "asked_as": dict(self._asked_as),
            "position": None if position is None else position(),
            "elapsed_ms": self._bounds.elapsed_ms(),
        }

    def take_up(self, notes: Mapping[str, Any]) -> None:
        """Go on counting from what `notes` gave; the time is whoever's who measures it."""
        self.usage = {model: Usage.model_validate(usage) for model, usage in notes["usage"].items()}
        self._asked_as = dict(notes["asked_as"])

    def _count(self, model: str, usage: Usage, *, asked_as: str) -> None:
        self.usage[model] = self.usage.get(model, Usage()) + usage
        self._asked_as[model] = asked_as
        if self._on_usage is not None:
            self._on_usage(model, usage)

    @property
    def total(self) -> Usage:
        """All models together."""
        return sum(self.usage.values(), Usage())

    def cost_usd(self, prices: Mapping[str, Price], *, default: Price | None = None) -> float | None:
        """What it has cost so far, in US dollars; None where a model that was used has no price.

        Args:
            prices: By model, under the name that the server answers with or the one it was asked for with.
            default: For models that are not among them.
        """
        cost = 0.0
        for model, usage in self.usage.items():
            if usage.total_tokens == 0:
                continue
            price = prices.get(model) or prices.get(self._asked_as[model]) or default
            if price is None:
                return None
            cost += price.cost_usd(usage)
        return cost
