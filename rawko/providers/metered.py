"""A provider that counts: tokens by model, of every try, failed ones included. Wraps any other provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from rawko.runtime.ports import ModelRequest, Provider, ProviderError, StreamEvent, TurnDone
from rawko.vocabulary.usage import Price, Usage


class MeteredProvider:
    """Passes calls on and keeps the sums.

    Args:
        inner: Who answers.
        on_usage: Told of every call's end: (model, its usage).
    """

    def __init__(self, inner: Provider, on_usage: Callable[[str, Usage], None] | None = None) -> None:
        self._inner = inner
        self._on_usage = on_usage
        self.usage: dict[str, Usage] = {}
        self._asked_as: dict[str, str] = {}
        self.name = inner.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        try:
            async with aclosing(self._inner.stream(request)) as events:  # type: ignore[type-var]
                async for event in events:
                    if isinstance(event, TurnDone):
                        self._count(event.model, event.usage, asked_as=request.model)
                    yield event
        except ProviderError as error:
            self._count(request.model, error.usage, asked_as=request.model)
            raise

    async def create(self, request: ModelRequest) -> TurnDone:
        try:
            done = await self._inner.create(request)
        except ProviderError as error:
            self._count(request.model, error.usage, asked_as=request.model)
            raise
        self._count(done.model, done.usage, asked_as=request.model)
        return done

    async def aclose(self) -> None:
        await self._inner.aclose()

    def notes(self) -> dict[str, Any]:
        """What has to be known to go on counting, and answering, from here: JSON."""
        position = getattr(self._inner, "position", None)
        return {
            "usage": {model: usage.to_json() for model, usage in self.usage.items()},
            "asked_as": dict(self._asked_as),
            "position": None if position is None else position(),
        }

    def take_up(self, notes: Mapping[str, Any]) -> None:
        """Go on counting from what `notes` gave."""
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
