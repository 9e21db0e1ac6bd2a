"""The charts that ship with the package, and which of them run several agents (patterns)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

from rawko.chart import Chart, find_chart, load_chart
from rawko.config import Settings

PATTERNS: Final = ("debate", "gauntlet", "parallel_plan", "race")
"""The shipped charts that run other agents. Each has a package of its name in `rawko.machines`."""
_ALONE: Final = ("agent_loop", "orchestrator", "node_engine")


@cache
def shipped_chart(stem: str) -> Chart:
    """A shipped chart, read once per process."""
    return load_chart(find_chart(stem))


def pattern(name: str) -> ModuleType:
    """The package of a pattern: its bindings, its templates' placeholders, and its parameters that name agents."""
    return import_module(f"rawko.machines.{name}")


def may_run_agents(settings: Settings) -> bool:
    """Whether an agent has a chart that may run other agents: a pattern, or a project's own chart."""
    return any(config.chart not in _ALONE for config in settings.agents.values())
