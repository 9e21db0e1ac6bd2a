"""The monitors that come with rawko, by name: `statecharts/monitors/NAME.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from rawko.chart import load_chart, shipped_path
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.machines.agent_loop.monitors import calls
from rawko.machines.agent_loop.monitors.invariants import monitors as invariants

FOLDER: Final = "monitors"
"""Beside the shipped charts."""
WATCHED: Final = "AgentLoopContext"
_ALWAYS: Final = "agent_loop"
"""The one that watches every run of an agent, whether it is named or not."""


def shipped_monitors() -> dict[str, Path]:
    """Their files, by name."""
    folder = Path(str(shipped_path("statecharts"))) / FOLDER
    return {one.stem: one for one in sorted(folder.glob("*.yaml"))}


@cache
def shipped_monitor(name: str) -> Monitor:
    """One of them.

    Raises:
        KeyError: There is none of that name.
    """
    if name == _ALWAYS:
        return invariants()[0]
    return Monitor(WATCHED, load_chart(shipped_monitors()[name]), calls.bindings)
