"""Finds the charts of a run's machines, as data: no code of the project is imported, so no trust is needed."""

from __future__ import annotations

from collections.abc import Mapping

from rawko.app.records.record import RunRecord
from rawko.app.run.parts.charts import shipped_chart
from rawko.chart import ChartError, shipped_charts
from rawko.chart.definition import Chart
from rawko.config import ConfigError, project_of
from rawko.trust.charts import project_chart
from rawko.trust.errors import ConfinedError

ROOT, AGENT = "root", "root/execute_agent"


class RunCharts:
    """The charts of the machines of one run; each is read once."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._known: dict[str, Chart] = {}

    def of(self, configurations: Mapping[str, tuple[str, ...]], agent: str) -> tuple[dict[str, Chart], dict[str, str]]:
        """Charts by path of their machine, and for other machines the reason why they have none.

        Args:
            configurations: Active states by path.
            agent: The agent that works under the arbiter now.
        """
        charts: dict[str, Chart] = {}
        problems: dict[str, str] = {}
        for path, states in configurations.items():
            try:
                chart = self._chart(path, agent, states)
            except (ConfigError, ChartError, ConfinedError, OSError) as error:
                problems[path] = str(error)
                continue
            if chart is None:
                problems[path] = "a machine that the agent's own chart runs"
            elif all(state in chart for state in states):
                charts[path] = chart
            else:
                problems[path] = "its chart has changed since"
        return charts, problems

    def _chart(self, path: str, agent: str, states: tuple[str, ...]) -> Chart | None:
        alone = self._record.agent
        if path == ROOT and alone is None:
            return shipped_chart("orchestrator")
        if path not in (ROOT, AGENT):
            return self._with(states)
        name = agent if alone is None else alone
        agents = self._record.settings.agents
        if name not in agents:
            raise ConfigError(f"the run has no agent {name!r}")
        return self._named(agents[name].chart)

    def _with(self, states: tuple[str, ...]) -> Chart | None:
        """The chart of an agent that a project's own chart runs: the first chart of an agent that has all its states.

        The journal names a machine's states, but not its chart.
        """
        stems = dict.fromkeys(("agent_loop", *(one.chart for one in self._record.settings.agents.values())))
        return next((chart for chart in map(self._named, stems) if all(state in chart for state in states)), None)

    def _named(self, stem: str) -> Chart:
        if stem not in self._known:
            self._known[stem] = self._read(stem)
        return self._known[stem]

    def _read(self, stem: str) -> Chart:
        if stem in shipped_charts():
            return shipped_chart(stem)
        found = project_chart(project_of(self._record.settings), stem)
        if found is None:
            raise ConfigError(f"there is no chart {stem!r} any more")
        return found
