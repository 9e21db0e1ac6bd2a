"""Puts the limits of the fleet before the provider of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy.engine import make_url

from rawko.app.run.budget import default_price
from rawko.app.run.run import Guard, Run
from rawko.fleet.database import open_database
from rawko.fleet.limits.keys import key_name
from rawko.fleet.limits.limited import LimitedProvider, Terms
from rawko.fleet.limits.store import LimitStore
from rawko.postgres_sessions import shared
from rawko.providers.models import resolve_model
from rawko.runtime.ports import Provider
from rawko.vocabulary.usage import Price

_SESSION: Final = "rawko-fleet"


def guard_of(
    run: Run, tenant: str, url: str, release_run: Callable[[str], None], fail_run: Callable[[str], None]
) -> Guard:
    """A function that wraps a run's provider in the limits of the fleet; it connects at the first call.

    Args:
        url: Of the fleet's database.
        release_run, fail_run: As in `Terms`.
    """
    settings = run.settings

    def price(model: str) -> Price | None:
        names = (model, resolve_model(model))
        return next((settings.prices[name] for name in names if name in settings.prices), default_price(settings))

    def guard(
        provider: Provider, no_time_for: Callable[[int], str | None], tell: Callable[[str, float, str], None]
    ) -> Provider:
        address = make_url(url)
        database = shared(address) or open_database(
            address, application=str(address.query.get("application_name", _SESSION)), pool=1
        )
        terms = Terms(
            run.id,
            tenant,
            settings.provider,
            lambda name: key_name(settings, name),
            price,
            no_time_for,
            tell,
            release_run,
            fail_run,
        )
        return LimitedProvider(provider, LimitStore(address, database), terms)

    return guard
