"""The monitors that the settings demand of a run, in addition to the one that watches every agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartError
from rawko.config import ConfigError, Settings, project_of
from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.monitoring.meta_event_names import META_EVENTS
from rawko.interpreter.monitoring.monitor import ANY_MACHINE, Monitor, with_known
from rawko.interpreter.running.interpreter import Interpreter
from rawko.machines.agent_loop.monitors import calls
from rawko.machines.agent_loop.monitors.refusing import refusal
from rawko.machines.agent_loop.monitors.shipped import shipped_monitor, shipped_monitors
from rawko.runtime.errors import BindingsNotFound
from rawko.trust.bindings import project_bindings
from rawko.trust.charts import project_chart
from rawko.vocabulary.agent import MonitorOptions, is_monitor_file
from rawko.vocabulary.documents import accepted


def demanded_monitors(settings: Settings) -> tuple[Monitor, ...]:
    """The monitors of the settings, in their order.

    Raises:
        ConfigError: A named monitor does not exist, its chart or functions cannot be used, or two have the same name.
    """
    every = [_monitor(settings, options, "monitors") for options in settings.monitors]
    own = [
        replace(_monitor(settings, options, f"agent {name!r}: monitors"), given={"agent": name})
        for name, config in settings.agents.items()
        for options in config.monitors
    ]
    for name in ("", *settings.agents):
        names = [one.name for one in (*every, *own) if one.given.get("agent", name) == name]
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            whose = f"agent {name!r}: " if name else ""
            raise ConfigError(f"{whose}monitors: two have the name {twice!r}; each needs a name of its own")
    return (*every, *own)


def _monitor(settings: Settings, options: MonitorOptions, where: str) -> Monitor:
    named = options.monitor
    if is_monitor_file(named):
        monitor = _own(settings, named, where)
    elif named in shipped_monitors():
        monitor = shipped_monitor(named)
    else:
        known = accepted(shipped_monitors(), found=named)
        raise ConfigError(
            f"{where}: {named!r}{known}, or the path of a chart in the workspace, such as rules/mine.yaml"
        )
    return replace(monitor, violation=options.violation, remedy=refusal, machine=options.machine)


def _own(settings: Settings, name: str, where: str) -> Monitor:
    project = project_of(settings)
    try:
        chart = project_chart(project, name)
        if chart is None:
            raise ConfigError(f"{where}: there is no file {name!r} in the workspace")
        own = project_bindings(project, chart, module=settings.bindings, start=Path(chart.file).parent)
        monitor = Monitor(ANY_MACHINE, chart, with_known(own, calls.bindings))
        _check(monitor)
    except (ChartError, BindingsNotFound, InterpreterError) as error:
        raise ConfigError(f"{where}: {name!r} cannot be used: {error}") from error
    return monitor


def _check(monitor: Monitor) -> None:
    """Check that a chart can be used as a monitor.

    Raises:
        ConfigError: It cannot be used.
        InterpreterError: It names functions that are not bound.
    """
    problems = list(_problems(monitor.chart, monitor))
    if problems:
        raise ConfigError("\n".join(problems))
    Interpreter(monitor.chart, monitor.bindings)


def _problems(chart: Chart, monitor: Monitor) -> Iterator[str]:
    for state in chart.states.values():
        if state.invoke:
            yield f"{state.position}: a monitor invokes no actors; guards and actions are accepted"
    if not (monitor.hears_something or monitor.duties):
        events = ", ".join(META_EVENTS)
        yield f"{chart.position}: the monitor {chart.name!r} hears none of the events of a machine: {events}"
