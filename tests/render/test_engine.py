"""The layout engine does what is asked of it: it ignores names that it does not know, so they are held here."""

from __future__ import annotations

from typing import Any

import graphlay
import pytest

from rawko.render.placing.engine import OPTIONS, PACKED, lay_out
from rawko.render.placing.layout import Link, Node
from rawko.render.placing.tidy import meeting_circle, straightened, tidied


@pytest.mark.parametrize("options", [OPTIONS, *PACKED, {"direction": "x", "effort": "x", "seed": 0}])
def test_the_engine_knows_our_options(options: dict[str, Any]) -> None:
    known = graphlay.options("layered")
    for name, value in options.items():
        assert name in known
        if isinstance(value, dict):
            assert set(value) <= set(known[name])


def test_the_engine_knows_our_fields() -> None:
    def box(**more: Any) -> dict[str, Any]:
        return {"size": {"width": 80.0, "height": 40.0}, "shape": "box", "key": "", **more}

    nodes = [box(), box(), box(parent=1), box(parent=1)]
    edges = [{"source": 0, "target": 1, "weight": 1.0}, {"source": 2, "target": 3, "weight": 1.0}]
    placed = graphlay.layout({"nodes": nodes, "edges": edges}, options={"direction": "topbottom"}).raw["nodes"]
    assert placed[1]["size"]["height"] > 80  # grew around its children
    assert placed[2]["rank"] < placed[3]["rank"]
    fixed = [box(rank={"fixed": rank}) for rank in (0, 2, 1)]
    lines = [{"source": 0, "target": 2, "weight": 1.0}, {"source": 0, "target": 1, "weight": 1.0}]
    answer = graphlay.layout({"nodes": fixed, "edges": lines}, options={"direction": "topbottom"}).raw["nodes"]
    assert [node["rank"] for node in answer] == [0, 2, 1]


def test_forward_is_down_from_the_first_node_whatever_the_cycles() -> None:
    nodes = [Node("i", 10, 10, is_first=True), *(Node(name, 80, 40) for name in "abc")]
    links = [
        Link("back", "c", "a", (60, 20)),
        Link("start", "i", "a"),
        Link("ab", "a", "b", (60, 20)),
        Link("bc", "b", "c", (60, 20)),
    ]
    layout = lay_out(nodes, links)
    tops = [layout.boxes[name].y for name in "iabc"]
    assert tops == sorted(tops)
    back = layout.routes["back"].parts
    assert back[0][0][1] >= layout.boxes["c"].y
    assert abs(back[-1][-1][1] - layout.boxes["a"].bottom) < 1


def test_steps_and_spikes_are_taken_out() -> None:
    assert straightened([(0, 0), (0, 5), (0, 9), (0, 4), (3, 4)]) == [(0, 0), (0, 4), (3, 4)]
    assert tidied([(0, 0), (0, 10), (0.4, 10), (0.4, 30)]) == ((0, 0), (0, 30))
    assert tidied([(0, 0), (0.01, 50), (70, 50)]) == ((0, 0), (0, 50), (70, 50))
    assert tidied([(0, 0), (0, 10), (40, 10), (40, 30)]) == ((0, 0), (0, 10), (40, 10), (40, 30))


def test_lines_meet_circles() -> None:
    circle = lay_out([Node("h", 20, 20, is_round=True)], []).boxes["h"]
    x, y = circle.centre
    assert meeting_circle([(x, y - 50), (x, circle.y)], circle, at_end=True)[-1] == (x, y - 10)
    aside = meeting_circle([(x + 6, circle.bottom), (x + 6, y + 50)], circle, at_end=False)[0]
    assert aside == (x + 6, y + 8)
