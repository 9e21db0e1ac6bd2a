"""The fleet that the environment names, for a command: opened, and its errors told."""

from __future__ import annotations

from collections.abc import Callable

from rawko.cli.output import complain
from rawko.extras import require
from rawko.processes.keys import environment
from rawko.trust.errors import ConfigError

URL_VARIABLE = "RAWKO_FLEET_URL"


def has_fleet() -> bool:
    """Whether the environment names a fleet."""
    return bool(environment().get(URL_VARIABLE))


def with_fleet(what: str, call: Callable[..., int]) -> int:
    """The exit code of a call with the fleet; what cannot be done is told on standard error.

    Args:
        what: The command, for the message where the extra is missing.
    """
    require("agents", what)
    require("fleet", what)
    from rawko.fleet.fleet import Fleet

    try:
        with Fleet.open(environment()) as fleet:
            return call(fleet)
    except ConfigError as error:
        return complain(str(error))
