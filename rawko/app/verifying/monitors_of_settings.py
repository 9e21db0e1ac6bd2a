"""The monitors by which recorded runs are checked if the user names none: those that the settings demand of a new run.

The present settings count, not the recorded ones: a rule that was added later is checked on earlier runs, too.
"""

from __future__ import annotations

from dataclasses import replace

from rawko.app.run.parts.monitors import demanded_monitors
from rawko.config import ConfigError, Settings
from rawko.interpreter.monitoring.monitor import ANY_MACHINE, Monitor


def monitors_of_settings(
    current: Settings, *, machine: str = ANY_MACHINE, module: str | None = None
) -> tuple[Monitor, ...]:
    """The monitors of the settings and of their agents, in the order of the settings; () if they name none.

    Args:
        machine: Name of the only chart whose machines are watched.
        module: Module with functions that they name, in place of the project's.

    Raises:
        ConfigError: One of them cannot be used, or none of them is about machines of the chart `machine`.
    """
    demanded = demanded_monitors(current if module is None else replace(current, bindings=module))
    if machine == ANY_MACHINE:
        return demanded
    chosen = tuple(replace(one, machine=machine) for one in demanded if one.machine in (ANY_MACHINE, machine))
    if demanded and not chosen:
        raise ConfigError(f"none of the monitors of the settings is about machines of the chart {machine!r}")
    return chosen
