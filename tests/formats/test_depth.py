"""States inside each other: a machine takes thousands, a text 99; beyond, an error says where."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sismic.model import BasicState, CompoundState, OrthogonalState, Statechart

from rawko.chart import ChartError, from_statechart, lint_chart, losses, parse_chart, to_sismic_yaml
from rawko.chart.definition import Chart
from rawko.chart.formats.depth import MAX_STATES_DEEP
from rawko.chart.formats.scxml import export_scxml, import_scxml
from rawko.chart.formats.xstate import export_xstate, import_xstate
from rawko.chart.formats.yaml_writer import write_chart
from rawko.interpreter import Interpreter


def built(depth: int, *, is_parallel: bool = False) -> Statechart:
    """sismic's model of so many states inside each other."""
    found = Statechart("deep")
    for place in range(depth):
        name = f"s{place}"
        state = OrthogonalState(name) if is_parallel else CompoundState(name, initial=f"s{place + 1}")
        found.add_state(state, f"s{place - 1}" if place else None)
    found.add_state(BasicState(f"s{depth}"), f"s{depth - 1}")
    return found


@pytest.mark.parametrize("depth", [1_000, 1_500])
@pytest.mark.parametrize("is_parallel", [False, True])
def test_a_machine_takes_thousands_of_states_inside_each_other(depth: int, is_parallel: bool) -> None:
    chart = from_statechart(built(depth, is_parallel=is_parallel))
    assert len(chart.descendants("s0")) == depth
    assert not lint_chart(chart)
    assert isinstance(losses(chart), tuple)
    machine = Interpreter(chart)
    assert len(machine.start().entered_states) == depth + 1
    text = json.dumps(machine.snapshot())
    again = Interpreter(chart)
    again.restore(json.loads(text))
    assert json.dumps(again.snapshot()) == text
    assert again.matches(f"s{depth}")
    again.send("UNKNOWN")


WRITERS: dict[str, Callable[[Chart], object]] = {
    "yaml": write_chart,
    "sismic": to_sismic_yaml,
    "xstate": export_xstate,
    "scxml": export_scxml,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_text_takes_99_and_says_where_it_is_too_deep(name: str) -> None:
    assert WRITERS[name](from_statechart(built(MAX_STATES_DEEP - 1)))
    for depth in (MAX_STATES_DEEP, 1_000, 1_500):
        with pytest.raises(ChartError, match=rf"too-deep: state 's{MAX_STATES_DEEP}' is nested"):
            WRITERS[name](from_statechart(built(depth)))


def test_what_is_written_is_read_again() -> None:
    chart = from_statechart(built(MAX_STATES_DEEP - 1))
    assert parse_chart(write_chart(chart)).hash == chart.hash
    assert parse_chart(to_sismic_yaml(chart)).hash == chart.hash
    assert len(import_xstate(export_xstate(chart).text).chart.states) == MAX_STATES_DEEP
    assert len(import_scxml(export_scxml(chart).text).chart.states) == MAX_STATES_DEEP


def flow(depth: int) -> str:
    opening = "".join(f"{{name: s{place}, initial: x, states: [" for place in reversed(range(depth)))
    return f"statechart: {{name: deep, root state: {opening}{{name: last}}{']}' * depth}}}"


HOSTILE: dict[str, Callable[[int], object]] = {
    "yaml flow": lambda depth: parse_chart(flow(depth)),
    "yaml lists": lambda depth: parse_chart("statechart: " + "[" * depth),
    "yaml mappings": lambda depth: parse_chart("statechart: " + "{a: " * depth),
    "yaml closed": lambda depth: parse_chart("statechart: " + "[" * depth + "]" * depth),
    "yaml block": lambda depth: parse_chart("statechart:\n  " + "- " * depth + "x\n"),
    "xstate": lambda depth: import_xstate('{"states": {"a": ' * depth + "{}" + "}}" * depth),
    "scxml": lambda depth: import_scxml(
        '<scxml xmlns="http://www.w3.org/2005/07/scxml">' + "<state>" * depth + "</state>" * depth + "</scxml>"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_a_hostile_text_gives_an_error_with_a_place(name: str, depth: int) -> None:
    with pytest.raises(ChartError) as caught:
        HOSTILE[name](depth)
    assert caught.value.diagnostics[0].code in ("too-deep", "too-large")
    assert caught.value.diagnostics[0].position.line >= 1
