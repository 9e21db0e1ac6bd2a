"""The canonical meaning: what is spelled out for speed says what the rule says."""

from __future__ import annotations

import pytest

from rawko.chart import parse_chart
from rawko.chart.canonical import _given, _plain
from rawko.chart.expressions.parser import parse_call, parse_guard
from tests.chart.test_parse import FULL


@pytest.mark.parametrize(
    "text",
    ["a", "a(n=1)", "a(n='x', m=[1, {'k': null}], k=true)", "a(of=event.task.id, at=context.n)", "a(o={'x': 1.5})"],
)
def test_calls_mean_what_any_dataclass_means(text: str) -> None:
    position = parse_chart(FULL).position
    for call in (parse_guard(text, lambda offset: position), parse_call(text, lambda offset: position)):
        assert _plain(call) == {"is": type(call).__name__, **_given(call)}


CHART = """
statechart:
  name: lamp
  root state:
    name: lamp
    initial: off
    states:
    - name: off
      transitions:
      - {event: SWITCH, guard: has_power(volts=230) and not is_broken, target: lit, action: [count(by=1), log: on]}
    - {name: lit, after: {10m: off}, transitions: [{event: SWITCH, target: off}]}
"""


def test_the_hash_is_the_one_that_snapshots_carry() -> None:
    assert parse_chart(CHART).hash.startswith("d9aa15692c3c045c")
