"""Which states a line for people names."""

from __future__ import annotations

from rawko.chart import find_chart, load_chart
from rawko.vocabulary.shown_states import GROUPING, shown_states

CHARTS = [load_chart(find_chart(name)) for name in ("orchestrator", "agent_loop", "node_engine")]


def test_root_and_grouping_states_are_left_out() -> None:
    assert shown_states(["agent_loop", "running", "asking_model", "thinking"]) == ["thinking"]
    assert shown_states(["rawko", "executing", "steerable", "working"]) == ["executing", "working"]
    assert shown_states(["lamp"]) == ["lamp"]
    assert shown_states(["motor", "running"]) == ["running"]
    assert shown_states([]) == []


def test_only_compound_states_of_the_shipped_charts_are_grouping() -> None:
    compound = {state.name for chart in CHARTS for state in chart if chart.descendants(state.name)}
    assert compound >= GROUPING


def test_every_stable_configuration_still_shows_a_state() -> None:
    leaves = {state.name for chart in CHARTS for state in chart if not chart.descendants(state.name)}
    assert not leaves & GROUPING
