"""The exploration keeps a bounded number of different steps, also where each state has many of its own."""

from __future__ import annotations

from rawko.chart import parse_chart
from rawko.proving import ControlSystem, explore
from rawko.proving.bounds import NO_BOUNDS

REGION = """\
      - name: r{n}
        initial: a{n}
        states:
          - {{name: a{n}, transitions: [{{event: GO, guard: g{n}, target: b{n}}}, {{event: X{n}, target: b{n}}}]}}
          - {{name: b{n}, transitions: [{{event: B{n}, target: a{n}}}, {{event: GO, target: b{n}}}]}}
"""


def test_steps_of_regions_that_depend_on_each_other_end_at_the_limit() -> None:
    regions = "".join(REGION.format(n=n) for n in range(10))
    chart = parse_chart(f"statechart:\n  name: wide\n  root state:\n    name: wide\n    parallel states:\n{regions}")
    found = explore(ControlSystem(chart, NO_BOUNDS), limit=8_000)
    assert "the limit of 2000 different steps was reached" in found.unknown
    assert len(found.kinds) < 2_000 + 1_100  # the steps of one more state
