"""Writes a chart as YAML that stock `sismic.io.import_from_yaml` loads. A comment at the top lists the losses.

Beyond `lowering`: sismic's reader refuses a history state inside a parallel one, so it is left out, and transitions to
it lead to the parallel state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from sismic.model import Transition as SismicTransition

from rawko.chart.definition import Chart, State
from rawko.chart.formats.depth import require_writable
from rawko.chart.lowering import Lowered, lower
from rawko.chart.sismic_losses import losses

# Texts that YAML 1.1 and 1.2 read as strings without quotes; all others are quoted.
_SAFE = re.compile(r"[A-Za-z_][A-Za-z0-9_.()]*( [A-Za-z0-9_.()]+)*")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def to_sismic_yaml(chart: Chart) -> str:
    """The chart in sismic's YAML, with states and transitions in the chart's order."""
    require_writable(chart)
    return _head(chart) + dump({"statechart": _statechart(chart)})


def dump(value: Any) -> str:
    """JSON data as YAML text, keys in order; texts are quoted unless every YAML reader reads them as strings."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


class _Dumper(yaml.SafeDumper):
    """A dumper that writes no aliases, which are hard to read for people."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _SAFE.fullmatch(text) and text.lower() not in _WORDS else '"'
    if "\n" in text and all(line.isprintable() and line == line.rstrip() for line in text.split("\n")):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _head(chart: Chart) -> str:
    lost = losses(chart)
    lines = [f"# line {found.position.line}: {found.message}" for found in lost]
    return "".join(
        f"{line}\n" for line in (["# Stock sismic does not do as the chart says here:", *lines] if lost else [])
    )


def _statechart(chart: Chart) -> dict[str, Any]:
    writer = _Writer(chart, lower(chart))
    found: dict[str, Any] = {"name": chart.name}
    if chart.description:
        found["description"] = chart.description
    if chart.preamble:
        found["preamble"] = chart.preamble
    return {**found, "root state": writer.state(chart[chart.root])}


class _Writer:
    def __init__(self, chart: Chart, lowered: Lowered) -> None:
        self._chart = chart
        self._lowered = lowered
        self._instead = {
            state.name: state.parent
            for state in chart
            if state.is_history and state.parent is not None and chart[state.parent].kind == "parallel"
        }

    def state(self, state: State) -> dict[str, Any]:
        lowered = self._lowered.statechart.state_for(state.name)
        found: dict[str, Any] = {"name": state.name}
        if state.kind == "final" or state.is_history:
            found["type"] = state.kind
        for key, value in (
            ("memory", getattr(lowered, "memory", None)),
            ("initial", getattr(lowered, "initial", None)),
            ("on entry", lowered.on_entry),
            ("on exit", lowered.on_exit),
            ("contract", list(_contract(lowered))),
            ("transitions", list(self._transitions(state))),
            ("parallel states" if state.kind == "parallel" else "states", self._children(state)),
        ):
            if value:
                found[key] = value
        return found

    def _children(self, state: State) -> list[dict[str, Any]]:
        return [self.state(self._chart[name]) for name in state.children if name not in self._instead]

    def _transitions(self, state: State) -> Iterator[dict[str, Any]]:
        for transition in state.transitions:
            yield from map(self._transition, self._lowered.transitions[transition.index])

    def _transition(self, transition: SismicTransition) -> dict[str, Any]:
        target = transition.target
        given: Mapping[str, Any] = {
            "event": transition.event,
            "target": self._instead.get(target, target) if target else None,
            "guard": transition.guard,
            "action": transition.action,
            "priority": transition.priority,
            "contract": list(_contract(transition)),
        }
        return {key: value for key, value in given.items() if value}


def _contract(lowered: Any) -> Iterator[dict[str, str]]:
    for key, conditions in (
        ("before", lowered.preconditions),
        ("after", lowered.postconditions),
        ("always", lowered.invariants),
    ):
        for condition in conditions:
            yield {key: condition}
