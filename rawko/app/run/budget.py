"""What a run is allowed and has used: time at work, calls per minute, and the prices that a bound on money needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from rawko.app.run.models.fallbacks import fallbacks_of
from rawko.config import ConfigError, Settings
from rawko.providers.metering.account import Bounds
from rawko.providers.models import resolve_model
from rawko.runtime.pacing import Pace
from rawko.runtime.ports import Answer, People, Question
from rawko.vocabulary.agent_path import calls_agents
from rawko.vocabulary.usage import Price, Usage

FREE: Final = Price(input=0.0, output=0.0)


class Stopwatch:
    """How long a run has been at work, in all processes together; it stands still while a person is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before_ms = 0
        self._since: float | None = None
        self._pauses = 0

    def start(self) -> None:
        """The machine begins to work; what came before is none of its time."""
        self._since = self._clock()

    def take_up(self, notes: Mapping[str, Any]) -> None:
        """Go on from what an earlier process has noted."""
        self._before_ms += int(notes.get("elapsed_ms") or 0)

    def elapsed_ms(self) -> int:
        running = 0.0 if self._since is None else self._clock() - self._since
        return self._before_ms + round(running * 1000)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing in here counts."""
        self._before_ms, self._since = self.elapsed_ms(), None
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self.start()


class UntimedPeople:
    """People whose time to think is not the run's."""

    def __init__(self, people: People, watch: Stopwatch) -> None:
        self._people = people
        self._watch = watch

    async def ask(self, question: Question) -> Answer | None:
        with self._watch.paused():
            return await self._people.ask(question)


def default_price(settings: Settings) -> Price | None:
    """Of models without a price of their own: a script costs nothing, a real model's cost is not known."""
    return FREE if settings.provider == "scripted" else None


def bounds_of(settings: Settings, watch: Stopwatch) -> Bounds:
    """What the run's meter measures against."""
    return Bounds(settings.budget, settings.prices, default_price(settings), watch.elapsed_ms)


def cost_counter(settings: Settings) -> Callable[[str, str, Usage], float | None]:
    """What one answer costs, in US dollars: by the model that was asked, the one that answered, and its usage."""

    def cost_of(asked: str, answered: str, usage: Usage) -> float | None:
        price = settings.prices.get(answered) or settings.prices.get(asked)
        return None if price is None else price.cost_usd(usage)

    return cost_of


def left_ms(settings: Settings, watch: Stopwatch) -> int | None:
    """What is left of the run's time; None where it is not bounded."""
    most = settings.budget.time_ms
    return None if most is None else most - watch.elapsed_ms()


def check_prices(settings: Settings, agent: str | None) -> None:
    """Refuse a bound on the cost that could not be kept, because a model's price is not known.

    Args:
        agent: The one that runs alone; None for all of them and the arbiter.

    Raises:
        ConfigError: Says which models have no price, and how to give them one.
    """
    most = _bound_on_cost(settings)
    if most is None or default_price(settings) is not None:
        return
    is_one = agent is not None and not calls_agents(settings.agents[agent])
    chosen = (settings.agents[agent],) if agent is not None and is_one else settings.agents.values()
    names = {config.model or settings.model for config in chosen}
    names |= {fallback.model for fallback in fallbacks_of(settings, chosen)}
    names |= {str(judge) for config in chosen if (judge := config.parameters.get("judge_model"))}
    if agent is None:
        names |= {settings.model, settings.fallback.model or settings.model}
    require_prices(settings, names, most)


def _bound_on_cost(settings: Settings) -> float | None:
    """The lowest bound on money: of the run, of calls of agents, or of an agent."""
    bounds = [settings.budget.cost_usd, settings.sub_agents.cost_usd]
    bounds += [config.limits.cost_usd for config in settings.agents.values()]
    return min((bound for bound in bounds if bound is not None), default=None)


def require_prices(settings: Settings, names: Iterable[str | None], cost_usd: float) -> None:
    """Refuse a bound on the cost of models, by the names that they are asked for with, whose price is not known.

    Raises:
        ConfigError: As `check_prices`.
    """
    if default_price(settings) is not None:
        return
    models = {name or "": resolve_model(name) for name in names}
    unknown = sorted({sent for asked, sent in models.items() if not {asked, sent} & set(settings.prices)})
    if unknown:
        raise ConfigError(
            f"the cost is bounded to ${cost_usd:g}, but there is no price for {', '.join(unknown)}; "
            "give it in .rawko/config.yaml, in US dollars per million tokens:\n"
            f"  prices:\n    {unknown[0]}: {{input: ..., output: ..., cache_read: ..., cache_write: ...}}"
        )


def rate_limits(
    settings: Settings, watch: Stopwatch, noted: Mapping[str, Any] | None, tell: Callable[[str, float, str], None]
) -> Mapping[str, Pace]:
    """The rate limits of a run's "tools" and model "calls".

    Args:
        noted: What an earlier process has counted; its last model call may not be among that.
        tell: Told of each wait: what waits, for how many seconds, and the limit in words.
    """
    rate = settings.rate
    most = {"tools": ("tool calls", rate.tools_per_minute), "calls": ("model calls", rate.calls_per_minute)}
    paces = {}
    for name, (what, per_minute) in most.items():
        paces[name] = pace = Pace(what, per_minute, left_ms=lambda: left_ms(settings, watch), tell=partial(tell, what))
        if noted:
            pace.take_up(noted.get("paces") or {}, name, is_unsure=name == "calls")
    return paces


def pace_notes(paces: Mapping[str, Pace]) -> dict[str, Any]:
    """When the last calls passed, by their rate limits; nothing where there are none."""
    noted = {name: times for name, pace in paces.items() if (times := pace.notes())}
    return {"paces": noted} if noted else {}
