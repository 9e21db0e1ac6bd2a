"""Reads the charts of a project's agents, and finds what of them needs trust.

A chart that uses only rawko's bindings needs none. A chart with functions of the project runs the project's code, one
that approves a tool call by itself acts in place of a person, and one that invokes an actor which runs commands or
changes files outside of the gate acts without any question; all of them need trust.

The chart parser is imported only if there is a chart to read: most commands read none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rawko.chart.errors import ChartError
from rawko.chart.shipped import shipped_charts
from rawko.runtime.errors import BindingsNotFound
from rawko.trust.items import Item
from rawko.trust.project import Project

if TYPE_CHECKING:
    from rawko.chart.definition import Chart

APPROVING: Final = frozenset({"approve_call", "approval"})
"""The action that records a person's approval in the machine, and the field that holds it."""
APPROVAL: Final = "APPROVE"
"""The event by which a person approves, of agents and of races; a chart could send it to an agent that it runs."""
ACTING: Final = frozenset({"check_evidence", "check_files", "run_lane", "bring_in", "adopt_lane", "take_back"})
"""Actors whose input, which a chart may write down, is a command that runs or files that change without a question."""
TOOL: Final = ("execute_tool", "execute_tool_input")
"""The actor whose input holds a person's approval of a call, and rawko's function that makes this input."""


def project_chart(project: Project, name: str) -> Chart | None:
    """A chart of the project by its path, with the fragments that it uses; None if it does not exist.

    Raises:
        ConfinedError: The path leads out of the project, is not a regular file, or the file is too large.
        ChartError: The chart has defects.
    """
    text = project.files.text(name)
    if text is None:
        return None
    from rawko.chart.parse import parse_chart
    from rawko.trust.fragments import fragment_files

    return parse_chart(text, file=str(project.root / name), fragments=fragment_files(project.files, name))


def chart_items(project: Project, names: Iterable[str]) -> Iterator[Item]:
    """The requests for trust of the charts that agents name. Charts with defects are skipped: loading reports them.

    Raises:
        ConfigError: The path of a chart, a pyproject.toml or a module leads out of the project.
    """
    shipped = shipped_charts()
    own = [name for name in dict.fromkeys(names) if name not in shipped]
    if own:
        yield from _own_chart_items(project, own)


def _own_chart_items(project: Project, names: Iterable[str]) -> Iterator[Item]:
    from rawko.trust.bindings import bindings_item, named_bindings

    for name in names:
        try:
            chart = project_chart(project, name)
        except ChartError:
            continue
        if chart is None:
            continue
        try:
            named = named_bindings(project, chart, start=Path(chart.file).parent)
        except BindingsNotFound:
            named = None
        is_bound = named is not None and named.project is not None
        if approves(chart):
            text = f"the chart {chart.name!r} can approve tool calls by itself"
            yield Item("chart", f"chart.{name}", text, name, content=chart.hash)
        elif acts(chart):
            text = f"the chart {chart.name!r} can run commands or change files by itself"
            yield Item("chart", f"chart.{name}", text, name, content=chart.hash)
        elif is_bound:
            text = f"the chart {chart.name!r} decides when Python functions of the project are called"
            yield Item("chart", f"chart.{name}", text, name, content=chart.hash)
        if named is not None and is_bound:
            yield bindings_item(project, chart, named)[0]


def approves(chart: Chart) -> bool:
    """Whether a chart can approve tool calls.

    It can by rawko's action or field, by sending a person's event to an agent, and by an input of its own for a tool:
    `for each` takes it from any data, such as the parameters of the agent's file.
    """
    from rawko.chart.canonical import canonical
    from rawko.chart.definition import SendAction
    from rawko.chart.lint.walk import actions

    actor, own_input = TOOL
    return (
        _holds(canonical(chart))
        or any(isinstance(use.action, SendAction) and use.action.event == APPROVAL for use in actions(chart))
        or any(
            one.src == actor and (one.input != own_input or one.for_each is not None)
            for state in chart.states.values()
            for one in state.invoke
        )
    )


def acts(chart: Chart) -> bool:
    """Whether a chart invokes an actor that runs commands or changes files outside of the gate."""
    return any(one.src in ACTING for state in chart.states.values() for one in state.invoke)


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return value in APPROVING
    if isinstance(value, dict):
        return any(key in APPROVING or _holds(item) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(map(_holds, value))
