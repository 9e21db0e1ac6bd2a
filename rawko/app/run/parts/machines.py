"""The machines that agents' files name: their charts and bindings, read once, and checked before a task starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rawko.app.lanes.adoption import no_adoption
from rawko.app.run.parts.charts import PATTERNS, may_run_agents, pattern, shipped_chart
from rawko.app.run.parts.checks import file_checks
from rawko.app.run.parts.invoked_agents import running_agents
from rawko.app.run.parts.lanes import lane_bindings
from rawko.chart import Chart, ChartError, shipped_charts
from rawko.chart.errors import Diagnostic
from rawko.config import ConfigError, Settings, project_of
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.errors import BindingError, ContextError
from rawko.interpreter.running.interpreter import Interpreter
from rawko.machines import agent_loop
from rawko.machines.prompts.prompts import Prompts
from rawko.runtime.errors import BindingsNotFound
from rawko.trust.bindings import project_bindings
from rawko.trust.charts import project_chart
from rawko.vocabulary.agent import AgentConfig
from rawko.vocabulary.documents import accepted

Machine = tuple[Chart, Bindings]


def agent_machines(
    settings: Settings,
    base: Bindings = agent_loop.bindings,
    prompts: Mapping[str, Prompts] = MappingProxyType({}),
    lanes: Bindings | None = None,
    judging: Bindings | None = None,
    adoption: Bindings | None = None,
) -> dict[str, Machine]:
    """Chart and bindings for each value of `chart` in agents' files: a shipped stem, or the path of a chart (C-09).

    A chart of the project's own may use everything that the agent loop binds, the functions of its own bindings, and
    three actors: `run_agent` runs another agent, `run_lane` runs one in a folder of its own, and `judge` chooses the
    best of several candidates. All charts are read here, once: a run cannot change its own rules.

    Args:
        prompts: Templates that the input of `run_agent` may name.
        lanes: Binds the actor `run_lane`; without it, the actor fails.
        judging: Binds the actor `judge`; without it, no model is asked.
        adoption: Binds the actors that adopt results of lanes and check files; without it, nothing is adopted.

    Raises:
        ConfigError: A chart does not exist or has defects, or its bindings cannot be loaded.
    """
    machines: dict[str, Machine] = {}
    if not may_run_agents(settings):
        running: Sequence[Bindings] = ()
    else:
        running = (
            running_agents(settings.agents, machines, prompts),
            lane_bindings() if lanes is None else lanes,
            _no_judge() if judging is None else judging,
            no_adoption() | file_checks(None) if adoption is None else adoption,
        )
    for config in settings.agents.values():
        if config.chart not in machines:
            machines[config.chart] = _machine(settings, config, base, running)
    return machines


def _no_judge() -> Bindings:
    from rawko.app.run.parts.judging import judging  # not at the top: imports the judge's machine, which few charts use

    return judging()


def _machine(settings: Settings, config: AgentConfig, base: Bindings, running: Sequence[Bindings]) -> Machine:
    try:
        if config.chart in PATTERNS:
            own = pattern(config.chart).bindings
            return shipped_chart(config.chart), reduce(or_, running, own) | _shared(base)
        if config.chart in shipped_charts():
            return shipped_chart(config.chart), base
        project = project_of(settings)
        chart = project_chart(project, config.chart)
        if chart is None:
            raise ConfigError(f"agent {config.name!r}: 'chart' is {config.chart!r}{_accepted_charts(config.chart)}")
    except ChartError as error:
        raise ConfigError(f"agent {config.name!r}: its chart has defects:\n{error}") from error
    try:
        own = project_bindings(project, chart, module=settings.bindings, start=Path(chart.file).parent)
    except BindingsNotFound as error:
        raise ConfigError(f"agent {config.name!r}: {error}") from error
    for offered in running:
        names = offered.names("actor")
        if own is None or not any(own.find("actor", name) for name in names):  # the project's own take precedence
            base = base | offered
    try:
        return chart, base if own is None else base | own
    except BindingError as error:
        raise ConfigError(f"agent {config.name!r}: its bindings bind a name that rawko binds: {error}") from error


_SHARED: Final = ("ask_person", "check_evidence")
"""Actors of the agent loop that patterns also use."""


def _shared(base: Bindings) -> Bindings:
    bindings = Bindings()
    for name in _SHARED:
        if (found := base.find("actor", name)) is not None:
            bindings.add("actor", name, found)
    return bindings


def _accepted_charts(found: str) -> str:
    return f"{accepted(shipped_charts(), found=found)}, or the path of a chart in the workspace"


def put_in_place(machines: dict[str, Machine], charts: Mapping[str, Chart]) -> None:
    """Replace present charts by the charts of the same names that a run was recorded with.

    Raises:
        ConfigError: A recorded chart names a function or actor that is no longer bound.
    """
    for stem, (chart, bindings) in machines.items():
        earlier = charts.get(chart.name)
        if earlier is not None and earlier.hash != chart.hash:
            if defects := _unbound(earlier, bindings):
                told = "; ".join(one.message.partition(";")[0] for one in defects)
                raise ConfigError(f"the chart {chart.name!r} as it was then does not fit what is bound now: {told}")
            machines[stem] = earlier, bindings


def check_machines(settings: Settings, machines: Mapping[str, Machine]) -> None:
    """Refuse, before a task starts, a chart with unbound names or a context that does not accept an agent's input.

    Raises:
        ConfigError: Lists every finding that is an error.
    """
    for config in settings.agents.values():
        if config.chart in shipped_charts() and config.chart not in PATTERNS:
            continue  # tests check shipped charts against their bindings
        chart, bindings = machines[config.chart]
        if config.chart in PATTERNS:
            _check_agents(config, pattern(config.chart).AGENT_PARAMETERS, settings.agents)
        else:
            _check_own(config, chart, bindings)
        given = agent_loop.agent_loop_input(config, "task")
        try:
            Interpreter(chart, bindings, input=given)
        except ContextError as error:
            names = ", ".join(map(repr, given))
            raise ConfigError(
                f"agent {config.name!r}: the context of its chart {config.chart!r} does not take what an agent is "
                f"given ({names}): {error}"
            ) from error


def _check_own(config: AgentConfig, chart: Chart, bindings: Bindings) -> None:
    if defects := _unbound(chart, bindings):
        told = "\n".join(map(str, defects))
        raise ConfigError(f"agent {config.name!r}: its chart has defects:\n{told}")


def _unbound(chart: Chart, bindings: Bindings) -> list[Diagnostic]:
    """The errors that a check of a chart with its bindings finds."""
    from rawko.chart.check import check_chart
    from rawko.runtime.bindings_lookup import bound_names

    return [found for found in check_chart(chart, bound_names(bindings)) if found.severity == "error"]


def _check_agents(config: AgentConfig, parameters: Sequence[str], agents: Mapping[str, AgentConfig]) -> None:
    """Refuse parameters that name an unknown agent."""
    for parameter in parameters:
        given = config.parameters.get(parameter)
        for named in given if isinstance(given, (list, tuple)) else [given]:
            name = named.get("agent") if isinstance(named, Mapping) else named
            if isinstance(name, str) and name not in agents:
                known = accepted(agents, found=name)
                raise ConfigError(f"agent {config.name!r}: its {parameter!r} names {name!r}, which is no agent{known}")
