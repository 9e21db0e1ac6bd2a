"""Corrections: made where they are certain, and nowhere else."""

from __future__ import annotations

import pytest

from rawko.chart import find_chart, parse_chart, shipped_charts
from rawko.chart.correcting import correct_chart
from rawko.chart.errors import certain_correction

DOOR = """\
statechart:
  name: door  # of the house
  root state:
    name: door
    inital: closed
    states:
      - name: closed
        transitions:
          - {event: OPEN, guard: is_free, tagret: "opend"}  # opend is not here
      - name: opened
        after: {10s: closd}
        transitions: [{event: SHUT, guard: in_state('opned'), target: closed}]
      - {name: broken, type: finall}
"""


def test_slips_are_corrected_and_nothing_else_changes() -> None:
    found = correct_chart(DOOR)
    wanted = DOOR.replace("inital", "initial").replace('tagret: "opend"', 'target: "opened"')
    wanted = wanted.replace("closd", "closed").replace("opned", "opened").replace("finall", "final")
    assert found.text == wanted
    assert len(found.fixed) == 6
    parse_chart(found.text)
    assert correct_chart(found.text).fixed == ()


@pytest.mark.parametrize(
    ("name", "names", "instead"),
    [
        ("tragets", ["targets", "target"], "targets"),
        ("target", ["targets", "targeta"], None),  # two are as near
        ("opend", ["opened"], "opened"),
        ("openned", ["opened"], "opened"),
        ("opaned", ["opened"], "opened"),
        ("opn", ["open"], None),  # too short
        ("openede", ["open"], None),
        ("opened", ["opened"], None),
        ("done", ["gone", "done"], "gone"),
    ],
)
def test_what_is_certain(name: str, names: list[str], instead: str | None) -> None:
    found = certain_correction(name, [one for one in names if one != name])
    assert (None if found is None else found.instead) == instead


def test_two_states_that_are_as_near_stay() -> None:
    text = DOOR.replace("broken", "closes").replace("closd", "close").replace("inital", "initial")
    found = correct_chart(text)
    assert "{10s: close}" in found.text


@pytest.mark.parametrize("name", shipped_charts())
def test_a_sound_chart_is_left_alone(name: str) -> None:
    text = find_chart(name).read_text("utf-8")
    assert correct_chart(text).text == text
