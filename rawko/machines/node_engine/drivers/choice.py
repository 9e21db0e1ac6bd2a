"""Chooses between the two drivers: the machine on an Actor, and the plain loop (NE-002, C-66).

`AGENT_DRIVER=statechart|runner` chooses; both emit the same events.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, get_args

from rawko.machines.node_engine.drivers.plain_loop import AgentRunner
from rawko.machines.node_engine.drivers.setup import Driver, RunSetup
from rawko.machines.node_engine.drivers.statechart import StatechartDriver
from rawko.machines.node_engine.errors import UnknownDriver

DriverName: TypeAlias = Literal["statechart", "runner"]
DRIVERS: Final[tuple[DriverName, ...]] = get_args(DriverName)
FLAG: Final = "AGENT_DRIVER"
DEFAULT: Final[DriverName] = "statechart"

_DRIVERS: Final[Mapping[DriverName, Callable[[RunSetup], Driver]]] = {
    "statechart": StatechartDriver,
    "runner": AgentRunner,
}


def driver_name(environ: Mapping[str, str] | None = None) -> DriverName:
    """The driver that AGENT_DRIVER names; `statechart` where it is unset or empty.

    Raises:
        UnknownDriver: AGENT_DRIVER does not name a driver.
    """
    wanted = (os.environ if environ is None else environ).get(FLAG) or DEFAULT
    for name in DRIVERS:
        if name == wanted:
            return name
    raise UnknownDriver(wanted, DRIVERS)


def make_driver(setup: RunSetup, name: DriverName | None = None) -> Driver:
    """The driver of a run; where `name` is None, the one that AGENT_DRIVER names.

    Raises:
        UnknownDriver: See `driver_name`.
    """
    return _DRIVERS[name or driver_name()](setup)
