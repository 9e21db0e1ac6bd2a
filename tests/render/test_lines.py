"""Drawings with labels on their lines: loops in one piece, nothing said twice, regions in the order of the chart."""

from __future__ import annotations

import pytest

from rawko.chart import parse_chart
from rawko.render.draw import DIRECTIONS, Options, draw, draw_scene
from rawko.render.placing.layout import Direction, Rect, Route
from rawko.render.placing.measure import text_width, wrapped
from rawko.render.placing.tidy import closed

LOOPS = """
statechart:
  name: loops
  root state:
    name: r
    initial: shut
    states:
      - name: shut
        transitions:
          - {event: OPEN, target: open}
          - {event: KNOCK, target: shut, action: count}
          - {event: KNOCK_AGAIN_WITH_A_LONG_NAME, guard: is_tired, target: shut, action: [count, shout]}
      - name: open
        after: {10s: shut}
        transitions: [{event: WIND, target: open}]
"""

REGIONS = """
statechart:
  name: editor
  root state:
    name: r
    initial: editing
    states:
      - name: editing
        transitions: [{event: CLOSE, target: shut}]
        parallel states:
          - {name: bold, initial: a1, states: [{name: a1, transitions: [{event: A, target: a2}]}, {name: a2}]}
          - {name: italic, initial: b1, states: [{name: b1, transitions: [{event: B, target: b2}]},
             {name: b2, transitions: [{event: B, target: b3}]}, {name: b3}]}
          - {name: list, initial: c1, states: [{name: c1, transitions: [{event: C, target: c1}]}]}
          - {name: font, initial: d1, states: [{name: d1}, {name: d2, transitions: [{event: D, target: d1}]}]}
      - {name: shut, type: final}
"""


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_line_back_to_its_own_state_is_in_one_piece_beside_its_label(direction: Direction) -> None:
    scene = draw_scene(parse_chart(LOOPS), Options(direction=direction))
    loops = [placed for placed in scene.arrows if placed.arrow.source == placed.arrow.target]
    assert len(loops) == 2
    for placed in loops:
        assert len(placed.route.parts) == 1 and placed.text is not None
        for x, y in placed.route.parts[0]:
            inside = placed.text.rect
            assert not (inside.x < x < inside.right and inside.y < y < inside.bottom)


def test_a_loop_with_ends_on_two_sides_of_its_label_stays_interrupted() -> None:
    label = Rect(0, 0, 40, 20)
    one, other = ((5.0, -30.0), (5.0, 0.0)), ((5.0, 20.0), (5.0, 50.0))
    both = Route((one, other), label)
    assert closed(both) == both
    beside = Route((one, ((15.0, 0.0), (15.0, -30.0))), label)
    assert closed(beside).parts == (((5.0, -30.0), (5.0, 0.0), (15.0, 0.0), (15.0, -30.0)),)


def test_a_timer_is_said_once() -> None:
    text = str(draw(parse_chart(LOOPS), ".svg", Options(style="lines")))
    assert text.count(">after 10s<") == 1
    rows = str(draw(parse_chart(LOOPS), ".svg", Options(style="rows")))
    assert rows.count(">after 10s<") == 1


def test_a_timer_inside_a_closed_box_is_not_lost() -> None:
    chart = parse_chart(
        "statechart: {name: s, root state: {name: r, initial: a, states: [{name: a, initial: b, after: {10s: c},"
        "states: [{name: b}, {name: c}]}]}}"
    )
    assert ">after 10s<" in str(draw(chart, ".svg", Options(depth=1)))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_regions_that_no_line_enters_stand_in_order_with_their_beginnings_in_line(direction: Direction) -> None:
    scene = draw_scene(parse_chart(REGIONS), Options(direction=direction, style="lines"))
    regions = [placed for placed in scene.boxes if placed.box.is_region]
    assert [placed.box.state for placed in regions] == ["bold", "italic", "list", "font"]
    along = [placed.rect.x if direction == "down" else placed.rect.y for placed in regions]
    across = {round(placed.rect.y if direction == "down" else placed.rect.x, 1) for placed in regions}
    assert along == sorted(along) and len(set(along)) == 4
    assert len(across) == 1


def test_charts_with_regions_get_rows_by_themselves() -> None:
    small = REGIONS.replace("italic", "i")
    assert ' class="rawko-chart rows"' in str(draw(parse_chart(small), ".svg"))


@pytest.mark.parametrize(
    "text",
    [
        "KNOCK_AGAIN_WITH_A_LONG_NAME",
        "これは長い条件です本当に長い条件ですから",
        "has_agent(name=event.agent_name)",
        "x" * 60,
    ],
)
def test_long_words_are_broken_and_not_cut(text: str) -> None:
    lines = wrapped(text, 12, 120, lines=9)
    assert "".join(lines) == text
    assert all(text_width(line, 12) <= 120 for line in lines)
