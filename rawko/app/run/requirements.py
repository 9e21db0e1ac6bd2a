"""What a run requires: a task that can be done, and, for a resume, the charts and tools that it began with.

Charts and tools are recorded at the start and compared at a resume.
"""

from __future__ import annotations

from rawko.app.run.budget import check_prices
from rawko.app.run.follow_up.follow_up_data import FOLLOW_UP, check_followed
from rawko.app.run.parts.charts import PATTERNS, shipped_chart
from rawko.app.run.parts.machines import agent_machines
from rawko.app.run.parts.project import require_grants
from rawko.app.run.parts.toolbox import open_toolbox
from rawko.chart import Chart, shipped_charts
from rawko.config import ConfigError, Settings
from rawko.runtime.ports import Toolbox
from rawko.vocabulary.documents import accepted


def check_task(
    settings: Settings, task: str, agent: str | None, *, continues: str | None, is_interactive: bool
) -> None:
    """Check a run as far as possible without opening anything; see `Run` for the arguments.

    Raises:
        ConfigError: The task is empty, the agent unknown, or a chart cannot be used.
    """
    if not task.strip() and (not is_interactive or continues is not None):
        raise ConfigError('the task is empty; say what is to be done: rawko run "Add a --version option"')
    if agent is not None and agent not in settings.agents:
        raise ConfigError(f"there is no agent {agent!r}{accepted(settings.agents, found=agent)}")
    require_grants(settings)
    machines = agent_machines(settings)
    check_prices(settings, agent)
    chart = None if agent is None else machines[settings.agents[agent].chart][0]
    if is_interactive:
        if chart is None:
            raise ConfigError("a conversation is with one agent: name it (--agent NAME)")
        if not {"END", "STOP_TURN"} <= set(chart.events):
            raise ConfigError(f"the chart of agent {agent!r} does not take the events END and STOP_TURN")
    if continues is not None:
        check_followed(settings, continues)
        if chart is not None and FOLLOW_UP not in chart.events:
            raise ConfigError(f"the chart of agent {agent!r} does not take the event {FOLLOW_UP}")


def charts_of(settings: Settings, agent: str | None) -> dict[str, str]:
    """Hash of each chart of a run, by its name.

    Raises:
        ConfigError: A chart cannot be loaded.
    """
    return {chart.name: chart.hash for chart in run_charts(settings, agent)}


def run_charts(settings: Settings, agent: str | None) -> list[Chart]:
    """The charts of a run.

    Raises:
        ConfigError: A chart cannot be loaded.
    """
    machines = agent_machines(settings)
    stem = None if agent is None else settings.agents[agent].chart
    # A pattern, and a chart of the project's own, may run every other agent.
    chosen = [machines[stem]] if stem in shipped_charts() and stem not in PATTERNS else machines.values()
    charts = [chart for chart, _ in chosen]
    if agent is None:
        charts.append(shipped_chart("orchestrator"))
    return charts


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
