"""Charts written and read again mean the same; what cannot be written is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sismic.io import import_from_yaml

from rawko.chart import ChartDefinitionError, from_statechart, load_chart, parse_chart
from rawko.chart.assemble import sealed
from rawko.chart.definition import (
    BlockAction,
    CallAction,
    CodeAction,
    CodeValue,
    FixedDelay,
    GuardCall,
    Invoke,
    RaiseAction,
)
from rawko.chart.formats.yaml_text import yaml_text
from rawko.chart.formats.yaml_writer import delay_text, write_chart
from rawko.chart.source.composer import compose
from rawko.chart.source.scalars import to_json
from tests.chart.test_parse import DEFAULTS, FULL, SISMIC
from tests.formats.charts import chart_texts

SHIPPED = sorted((Path(__file__).parents[2] / "statecharts").glob("*.yaml"))

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_charts_survive(path: Path) -> None:
    chart = load_chart(path)
    again = parse_chart(write_chart(chart))
    assert again.hash == chart.hash
    assert [state.description for state in again] == [state.description for state in chart]
    assert again.events == chart.events


@pytest.mark.parametrize("text", [FULL, DEFAULTS])
def test_every_key_survives(text: str) -> None:
    chart = parse_chart(text)
    assert parse_chart(write_chart(chart)).hash == chart.hash


def test_trusted_code_survives() -> None:
    chart = parse_chart(SISMIC, trusted=True)
    assert parse_chart(write_chart(chart), trusted=True).hash == chart.hash


def test_a_sismic_statechart_survives() -> None:
    chart = from_statechart(import_from_yaml(SISMIC.replace("[log_it]", "log_it")))
    assert parse_chart(write_chart(chart), trusted=True).hash == chart.hash


@pytest.mark.slow
@given(text=chart_texts())
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_chart_survives(text: str) -> None:
    chart = parse_chart(text)
    assert write_chart(chart) == text
    assert parse_chart(write_chart(chart)).hash == chart.hash


@given(value=JSON)
@settings(max_examples=50, deadline=None)
def test_any_value_is_read_back_by_our_reader_and_by_pyyaml(value: object) -> None:
    text = yaml_text({"value": value})
    ours = to_json(compose(text, "t").root)
    assert repr(ours) == repr({"value": value})
    assert repr(yaml.safe_load(text)) == repr({"value": value})


@given(milliseconds=st.floats(0, 1e12))
def test_any_delay_is_read_back(milliseconds: float) -> None:
    chart = parse_chart(f"statechart: {{name: t, root state: {{name: r, after: {{{delay_text(milliseconds)}: r}}}}}}")
    delay = chart["r"].after[0].delay
    assert isinstance(delay, FixedDelay)
    assert delay.milliseconds == milliseconds


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0ms"), (150, "150ms"), (2000, "2s"), (600_000, "10m"), (3_600_000, "1h"), (1500, "1500ms"), (0.5, "0.5ms")],
)
def test_delays_are_written_as_people_do(milliseconds: float, text: str) -> None:
    assert delay_text(milliseconds) == text


def test_timers_of_one_length_keep_apart() -> None:
    chart = parse_chart("statechart: {name: t, root state: {name: r, after: {10s: r, 10000ms: {action: x}}}}")
    plain = replace(chart["r"], after=tuple(replace(timer, delay=FixedDelay(10_000)) for timer in chart["r"].after))
    again = parse_chart(write_chart(sealed(replace(chart, states={"r": plain}))))
    assert again.hash == chart.hash


def test_orders_that_no_keys_give_stand_under_transitions() -> None:
    chart = parse_chart("""
statechart:
  name: t
  root state:
    name: r
    transitions: [{event: A, action: one}, {event: B, action: two}]
    always: {guard: g, action: three}
    after: {2s: {action: four}}
""")
    first, second, third, fourth = chart.transitions
    rows = tuple(replace(row, index=place) for place, row in enumerate((first, third, second, fourth)))
    mixed = sealed(replace(chart, transitions=rows, states={"r": replace(chart["r"], transitions=rows)}))
    assert mixed.hash != chart.hash
    assert parse_chart(write_chart(mixed)).hash == mixed.hash


def test_code_beside_other_actions_comes_back() -> None:
    chart = parse_chart("statechart: {name: t, root state: {name: r, transitions: [{event: A}]}}")
    block = BlockAction((CodeAction("y = 2"), RaiseAction("B")))
    beside = replace(
        chart["r"],
        on_entry=(CodeAction("x = 1"), CallAction("count"), block),
        invoke=(Invoke("i", "work", "r", CodeValue("x"), finalize=(CodeAction("x = 2"),), autoforward=True),),
        output=CodeValue("{'x': x}"),
    )
    made = sealed(replace(chart, states={"r": beside}, errors="scxml", data_model="python"))
    again = parse_chart(write_chart(made), trusted=True)
    assert again.hash == made.hash
    assert again["r"].output == CodeValue("{'x': x}")
    assert again["r"].invoke[0].input == CodeValue("x")
    with pytest.raises(ChartDefinitionError, match="code-not-trusted"):
        parse_chart(write_chart(made))


def test_what_the_language_cannot_say_is_refused() -> None:
    chart = parse_chart("statechart: {name: t, root state: {name: r, transitions: [{event: A}]}}")
    named = replace(
        chart["r"], on_entry=(CodeAction("x"),), transitions=(replace(chart.transitions[0], guard=GuardCall("g")),)
    )
    with pytest.raises(ValueError, match="'g' cannot be written"):
        write_chart(sealed(replace(chart, states={"r": named})))
