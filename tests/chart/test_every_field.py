"""Every field of a chart's definition is known to those who read definitions: comparison, writers, exports.

A new key of the chart language is a new field of `State`, `Transition`, `Invoke`, `After` or `Chart`. Here a chart that
uses the field is put beside the same chart without it: the difference has to show, or the field is named below with the
reason why it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, replace
from typing import Any

import pytest

from rawko.chart import Chart, parse_chart
from rawko.chart.assemble import sealed
from rawko.chart.comparing import compare_charts
from rawko.chart.definition import After, Invoke, State, Transition
from rawko.chart.formats.scxml.writing import export_scxml
from rawko.chart.formats.sismic_yaml import to_sismic_yaml
from rawko.chart.formats.xstate.writing import export_xstate
from rawko.chart.formats.yaml_writer import write_chart
from rawko.chart.sismic_losses import losses
from tests.chart.test_parse import FULL

MORE = """\
statechart:
  name: more
  version: "2"
  migrate: [{from: "1", states: {gone: a}}]
  errors: scxml
  selection: scxml
  root state:
    name: more
    initial: {target: b, action: begin}
    states:
      - name: a
        contract: [{before: is_ready}, {after: is_ready}, {always: is_ready}]
        transitions:
          - {event: GO, guard: is_late, target: b}
          - {event: GO, target: c, priority: high}
      - name: b
        parallel states:
          - name: left
            initial: l1
            states:
              - {name: l1, transitions: [{event: GO, target: l2}]}
              - {name: l2}
              - {name: lh, type: shallow history, memory: {target: l2, action: remember}}
          - {name: right}
        transitions: [{event: GO, action: note}, {event: BACK, target: a}]
      - name: c
        transitions: [{event: BACK, target: lh}]
        invoke:
          - {id: one, src: fetch, finalize: keep, autoforward: true, timeout: 1m, on error: a}
          - {id: all, src: fetch, for each: pages, join: any, on done: b, on error: a}
"""
RESTORED = """\
statechart:
  name: restored
  root state: {name: restored, invoke: {src: fetch, on restore: fail}}
"""
CODE = """\
statechart:
  name: code
  data model: python
  preamble: n = 0
  root state: {name: code, on entry: n += 1}
"""
CHARTS = [parse_chart(FULL), parse_chart(MORE), parse_chart(RESTORED), parse_chart(CODE, trusted=True)]

STRUCTURE = {(State, "parent"), (State, "children"), (State, "transitions"), (Transition, "events")}
"""A chart without them is no chart."""
SILENT: dict[tuple[type, str], str] = {
    (State, "description"): "for people",
    (Transition, "description"): "for people",
    (Transition, "origin"): "the events say it",
    (Chart, "description"): "for people",
    (Chart, "file"): "of the text, not of the chart",
    (Chart, "fragments"): "of the text, not of the chart",
    (Chart, "has_code"): "follows from the rest",
    (Chart, "hash_of"): "follows from the rest",
    (Chart, "marks"): "of the text, not of the chart",
    **{(kind, "position"): "of the text, not of the chart" for kind in (State, Transition, Invoke, After, Chart)},
}
"""Fields that do not change what a chart means."""
UNCOMPARED: dict[tuple[type, str], str] = {(Chart, "migrations"): "they are not part of the hash"}


def optional(kind: type) -> Iterator[Field[Any]]:
    for field in fields(kind):
        if default_of(field) is not MISSING and not {(kind, field.name)} & (STRUCTURE | SILENT.keys()):
            yield field


def default_of(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def parts(chart: Chart, kind: type) -> list[Any]:
    if kind is Chart:
        return [chart]
    if kind is State:
        return list(chart)
    if kind is Transition:
        return list(chart.transitions)
    return [part for state in chart for part in (state.invoke if kind is Invoke else state.after)]


def without(chart: Chart, kind: type, field: Field[Any]) -> Chart:
    """The chart with the field's default everywhere."""
    reset = {field.name: default_of(field)}
    if kind is Chart:
        return sealed(replace(chart, **reset))
    transitions = [replace(one, **reset) if kind is Transition else one for one in chart.transitions]
    states = {}
    for name, state in chart.states.items():
        changed = replace(
            state,
            transitions=tuple(transitions[one.index] for one in state.transitions),
            invoke=tuple(replace(one, **reset) if kind is Invoke else one for one in state.invoke),
            after=tuple(replace(one, **reset) if kind is After else one for one in state.after),
        )
        states[name] = replace(changed, **reset) if kind is State else changed
    return sealed(replace(chart, states=states, transitions=tuple(transitions)))


def pairs(kind: type, field: Field[Any]) -> list[tuple[Chart, Chart]]:
    """Charts that use the field, each with the same chart without it."""
    default = default_of(field)
    using = [chart for chart in CHARTS if any(getattr(part, field.name) != default for part in parts(chart, kind))]
    assert using, f"no chart of this module uses {kind.__name__}.{field.name}: add it to MORE"
    return [(chart, without(chart, kind, field)) for chart in using]


FIELDS = [
    pytest.param(kind, field, id=f"{kind.__name__}.{field.name}")
    for kind in (State, Transition, Invoke, After, Chart)
    for field in optional(kind)
]


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_a_difference_in_it_is_found(kind: type, field: Field[Any]) -> None:
    for chart, other in pairs(kind, field):
        if (kind, field.name) in UNCOMPARED:
            assert chart.hash == other.hash, UNCOMPARED[kind, field.name]
            continue
        assert chart.hash != other.hash, "charts that behave differently have different hashes"
        assert compare_charts(other, chart), "`rawko diff-charts` would call them the same"


def told(export: Callable[[Chart], Any], chart: Chart) -> tuple[str, tuple[str, ...]]:
    found = export(chart)
    return found.text, tuple(each.message for each in found.losses)


EXPORTS: dict[str, Callable[[Chart], tuple[str, tuple[str, ...]]]] = {
    "yaml": lambda chart: (write_chart(chart), ()),
    "sismic": lambda chart: (to_sismic_yaml(chart), tuple(each.message for each in losses(chart))),
    "xstate": lambda chart: told(export_xstate, chart),
    "scxml": lambda chart: told(export_scxml, chart),
}


LOST_WITH_MORE: dict[str, dict[tuple[type, str], str]] = {
    "sismic": {
        **{(Invoke, field.name): "sismic starts no actors: the whole invocation is lost" for field in optional(Invoke)},
        (After, "on_restore"): "sismic sets no timers",
        (Chart, "migrations"): "of rawko's snapshots",
    },
    "xstate": {(Chart, "migrations"): "of rawko's snapshots", (Chart, "data_model"): "all Python code is lost"},
    "scxml": {(Chart, "migrations"): "of rawko's snapshots"},
}
"""Fields that are not written and not reported, because more than the field is lost."""


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_it_is_written_or_reported_as_lost(kind: type, field: Field[Any], name: str) -> None:
    """In the text of the export, or in its warnings."""
    export = EXPORTS[name]
    if (kind, field.name) in LOST_WITH_MORE.get(name, {}):
        return
    assert any(export(chart) != export(other) for chart, other in pairs(kind, field))
