"""A run's bounds and its use of them: working time, calls per minute, and the prices that a cost bound needs."""

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
    """Measures a run's working time, summed over all its processes; it is paused while a person is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before_ms = 0
        self._since: float | None = None
        self._pauses = 0

    def start(self) -> None:
        """Start counting; the time before the machine starts does not count."""
        self._since = self._clock()

    def take_up(self, notes: Mapping[str, Any]) -> None:
        """Add the time that an earlier process of the run has noted."""
        self._before_ms += int(notes.get("elapsed_ms") or 0)

    def elapsed_ms(self) -> int:
        running = 0.0 if self._since is None else self._clock() - self._since
        return self._before_ms + round(running * 1000)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time that passes inside this context does not count."""
        self._before_ms, self._since = self.elapsed_ms(), None
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self.start()


class UntimedPeople:
    """Passes questions on to people, and pauses the run's stopwatch until they answer."""

    def __init__(self, people: People, watch: Stopwatch) -> None:
        self._people = people
        self._watch = watch

    async def ask(self, question: Question) -> Answer | None:
        with self._watch.paused():
            return await self._people.ask(question)


def default_price(settings: Settings) -> Price | None:
    """Price of models that the settings give no price: 0 for the scripted provider, None (unknown) for real models."""
    return FREE if settings.provider == "scripted" else None


def bounds_of(settings: Settings, watch: Stopwatch) -> Bounds:
    """The bounds that the run's meter compares its usage with."""
    return Bounds(settings.budget, settings.prices, default_price(settings), watch.elapsed_ms)


def cost_counter(settings: Settings) -> Callable[[str, str, Usage], float | None]:
    """Gives a function that prices one answer in US dollars; None where the price is unknown.

    Its arguments: the model that was asked for, the model that answered, and the answer's usage.
    """

    def cost_of(asked: str, answered: str, usage: Usage) -> float | None:
        price = settings.prices.get(answered) or settings.prices.get(asked)
        return None if price is None else price.cost_usd(usage)

    return cost_of


def left_ms(settings: Settings, watch: Stopwatch) -> int | None:
    """Milliseconds left of the run's time; None where the time is not bounded."""
    most = settings.budget.time_ms
    return None if most is None else most - watch.elapsed_ms()


def check_prices(settings: Settings, agent: str | None) -> None:
    """Refuse a cost bound that cannot be enforced, because a model's price is not known.

    Args:
        agent: The agent that runs alone; None: the arbiter and all agents are checked.

    Raises:
        ConfigError: A price is missing; the message names the models and says how to give their prices.
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
    """The lowest cost bound in US dollars: of the run, of calls of agents, or of an agent; None where there is none."""
    bounds = [settings.budget.cost_usd, settings.sub_agents.cost_usd]
    bounds += [config.limits.cost_usd for config in settings.agents.values()]
    return min((bound for bound in bounds if bound is not None), default=None)


def require_prices(settings: Settings, names: Iterable[str | None], cost_usd: float) -> None:
    """Refuse a cost bound if the price of a model, given by the name that requests use, is not known.

    Raises:
        ConfigError: As in `check_prices`.
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
    """The rate limits of a run, by name: "tools" for tool calls, "calls" for model calls.

    Args:
        noted: The counts that an earlier process has noted; its last model call may be missing in them.
        tell: Called at each wait, with the kind of call that waits, the seconds, and the limit in words.
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
    """Times of the last calls, by rate limit, for the journal's notes; {} where there are no limits."""
    noted = {name: times for name, pace in paces.items() if (times := pace.notes())}
    return {"paces": noted} if noted else {}
