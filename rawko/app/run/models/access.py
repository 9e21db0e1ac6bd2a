"""What a run asks models through, opened from its settings: provider, account of its usage, rate limits, cache.

A lane shares them with the run above: it borrows the provider, counts below that run's account, waits in its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rawko.app.run.budget import Stopwatch, bounds_of, rate_limits
from rawko.app.run.follow_up.position import position_left
from rawko.app.run.models.provider import open_provider
from rawko.app.run.parts.lanes import Common, Lent, account_alone, position_of_all
from rawko.app.run.parts.null_ports import StillProvider
from rawko.app.run.stores import Stores
from rawko.config import Settings
from rawko.providers.metering.account import Account
from rawko.runtime.journal import Journal
from rawko.runtime.pacing import Pace
from rawko.runtime.ports import Provider

if TYPE_CHECKING:
    from rawko.app.answers.cache import CachedAnswers


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """How one run comes to its models.

    Attributes:
        agent: The one that runs alone; its run has no arbiter, whose answers could be kept.
        plays_after: The run of the same session after which the scenario or the cassette goes on; None: it begins.
        is_cancel: The run is taken up only to end it: no model is asked.
        common: What a lane has from the run above it.
        warn: Takes a warning for the log.
    """

    settings: Settings
    run: str
    agent: str | None
    plays_after: str | None
    is_resumed: bool
    is_cancel: bool
    common: Common | None
    watch: Stopwatch
    warn: Callable[[str], None]

    async def open_provider(self, noted: Mapping[str, Any] | None, stores: Stores | None) -> Provider:
        """The provider, which goes on where a scenario or a cassette was left.

        Args:
            noted, stores: Of a run that goes on: what its latest row has noted, and its open stores.

        Raises:
            ConfigError: There is no way to a model, or its scenario or cassette cannot be used.
            JournalError: How far the lanes have come cannot be read.
        """
        position = await self._position(noted, stores)
        if self.is_cancel:
            return StillProvider()
        if self.common is not None and self.common.provider is not None:
            return Lent(self.common.provider)
        provider = open_provider(self.settings, position, is_resumed=self.is_resumed)
        return provider if self.common is None else self.common.recorded(provider)

    async def _position(self, noted: Mapping[str, Any] | None, stores: Stores | None) -> Mapping[str, Any] | None:
        """How far the scenario or the cassette was played, or recorded, by the run itself and its lanes."""
        if stores is None:
            return await self._position_before()
        position = noted["position"] if noted else await self._position_before()
        return await position_of_all(position, self.settings, self.run, stores.journal)

    async def _position_before(self) -> Mapping[str, Any] | None:
        """How far it was played in the session before this run; None: from its beginning."""
        return None if self.plays_after is None else await position_left(self.plays_after, self.settings)

    def open_cache(self, noted: Mapping[str, Any] | None) -> CachedAnswers | None:
        """The cache of the arbiter's answers, where the settings ask for it."""
        if self.is_cancel or self.agent is not None or not self.settings.arbiter_cache:
            return None
        from rawko.app.answers.cache import open_cache

        cache = open_cache(self.settings, self.warn, self.run)
        cache.take_up(noted)
        return cache

    async def account(self, journal: Journal | None) -> Account:
        """What the run's usage is counted into.

        Args:
            journal: Of a run that goes on; None of a new one.

        Raises:
            JournalError: What was used cannot be read.
        """
        if self.common is None:
            return await account_alone(self.settings, self.run, bounds_of(self.settings, self.watch), journal)
        return self.common.account.of(self.run)

    def rate_limits(
        self, noted: Mapping[str, Any] | None, tell: Callable[[str, float, str], None]
    ) -> Mapping[str, Pace]:
        """The rate limits of "tools" and model "calls"; arguments as those of `budget.rate_limits`."""
        if self.common is not None:
            return self.common.paces
        return rate_limits(self.settings, self.watch, noted, tell)
