"""What a run needs to go on as it began: its charts, its agents' tools; remembered at the start, compared later."""

from __future__ import annotations

from rawko.app.run.parts.machines import agent_machines, shipped_chart
from rawko.app.run.parts.toolbox import open_toolbox
from rawko.config import Settings
from rawko.runtime.ports import Toolbox


def charts_of(settings: Settings, agent: str | None) -> dict[str, str]:
    """Hash of each chart of a run, by its name.

    Raises:
        ConfigError: A chart cannot be loaded.
    """
    machines = agent_machines(settings)
    chosen = machines.values() if agent is None else [machines[settings.agents[agent].chart]]
    charts = [chart for chart, _ in chosen]
    if agent is None:
        charts.append(shipped_chart("orchestrator"))
    return {chart.name: chart.hash for chart in charts}


def tools_of(settings: Settings, toolbox: Toolbox | None = None) -> dict[str, list[str]]:
    """Names of the tools of each agent, sorted.

    Raises:
        ConfigError: The tools cannot be set up.
    """
    found = toolbox or open_toolbox(settings, frozenset)
    return {agent: sorted(spec.name for spec in found.specs(agent)) for agent in settings.agents}


def read_only_tools(settings: Settings, toolbox: Toolbox | None = None) -> frozenset[str]:
    """Names of the tools that only read."""
    found = toolbox or open_toolbox(settings, frozenset)
    return frozenset(spec.name for agent in settings.agents for spec in found.specs(agent) if spec.is_read_only)
