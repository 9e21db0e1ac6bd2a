"""Exported charts on real XState: the same events give the same configurations and the same actions in order."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rawko.chart import find_chart, load_chart, parse_chart
from rawko.chart.definition import Chart
from tests.formats.charts import WITHOUT_LISTS, chart_texts
from tests.formats.walks import Walker, request
from tests.formats.xstate_node import XStateNode

CHARTS = int(os.environ.get("RAWKO_FUZZ", "15"))
"""More for a long run by hand."""


def assert_same_way(node: XStateNode, chart: Chart, seed: object, length: int) -> int:
    """Walk a chart on both; returns the number of steps taken."""
    walker = Walker(chart, seed)
    walked = walker.walk(length)
    answer = node.run(request(walker, walked))
    for step, ours, theirs in zip(walked.steps, walked.seen, answer["steps"], strict=False):
        theirs["trace"] = [name.split("(")[0] for name in theirs["trace"]]
        assert theirs == ours, (step, answer["failure"])
    # An eventless cycle is an error here; XState stops it where a round gives the configuration it began with.
    if walked.failure != "EventlessCycleError":
        assert (answer["failure"] is None) == (walked.failure is None), (answer["failure"], walked.failure)
        assert len(answer["steps"]) >= len(walked.seen)
    return len(walked.seen)


@pytest.mark.parametrize("stem", WITHOUT_LISTS)
def test_shipped_machines_take_the_same_transitions(node: XStateNode, stem: str) -> None:
    chart = load_chart(find_chart(stem))
    taken = seed = 0
    while taken < 150:
        taken += assert_same_way(node, chart, (stem, seed), 40)
        seed += 1
    assert seed < 300


@pytest.mark.slow
@given(text=chart_texts(), seed=st.integers(0, 1_000_000))
@settings(max_examples=CHARTS, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_any_chart_takes_the_same_transitions(node: XStateNode, text: str, seed: int) -> None:
    assert_same_way(node, parse_chart(text), seed, 12)


WITHOUT_RECORD = """
statechart:
  name: r
  root state:
    name: r
    initial: x
    states:
    - {{name: x, transitions: [{{event: A, target: [h, g]}}]}}
    - name: o
      on entry: o_in
      parallel states:
      - name: p
        on entry: p_in
        initial: {{target: a, action: p_initial}}
        states:
        - {{name: a, on entry: a_in, transitions: [{{event: N, target: b}}]}}
        - {{name: b, on exit: b_out}}
        - {{name: h, type: {kind}}}
        transitions: [{{event: X, target: x}}]
      - name: q
        on entry: q_in
        initial: {{target: c, action: q_initial}}
        states:
        - {{name: c, on entry: c_in}}
        - {{name: d}}
        - {{name: g, type: {kind}{memory}}}
"""


@pytest.mark.parametrize("kind", ["shallow history", "deep history"])
@pytest.mark.parametrize("memory", ["", ", memory: c"])
def test_history_without_a_record_takes_the_initial_with_its_actions(node: XStateNode, kind: str, memory: str) -> None:
    chart = parse_chart(WITHOUT_RECORD.format(kind=kind, memory=memory))
    for seed in range(8):
        assert_same_way(node, chart, (kind, memory, seed), 12)
