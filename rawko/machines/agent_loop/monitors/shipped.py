"""The monitors that rawko ships, by name: `statecharts/monitors/NAME.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from rawko.chart import load_chart, shipped_path
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.machines.agent_loop.monitors import calls
from rawko.machines.agent_loop.monitors.invariants import monitors as invariants

FOLDER: Final = "monitors"
"""Folder of the monitors, beside the shipped charts."""
WATCHED: Final = "AgentLoopContext"
_ALWAYS: Final = "agent_loop"
"""The monitor that runs with every agent, whether or not it is named."""


def shipped_monitors() -> dict[str, Path]:
    """The files of the shipped monitors, by name."""
    folder = Path(str(shipped_path("statecharts"))) / FOLDER
    return {one.stem: one for one in sorted(folder.glob("*.yaml"))}


@cache
def shipped_monitor(name: str) -> Monitor:
    """The shipped monitor of this name.

    Raises:
        KeyError: No shipped monitor has this name.
    """
    if name == _ALWAYS:
        return invariants()[0]
    return Monitor(WATCHED, load_chart(shipped_monitors()[name]), calls.bindings)
