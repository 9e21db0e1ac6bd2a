"""SVG text: what a page can rely on, and that no name can add markup."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.chart import Chart
from rawko.render.draw import Options, draw, draw_scene
from rawko.render.formats.svg import state_id, to_svg
from rawko.render.formats.themes import DARK, LIGHT, Theme
from tests.render.charts import one_state

SVG = "{http://www.w3.org/2000/svg}"


def _drawn(chart: Chart, options: Options | None = None) -> ElementTree.Element:
    text = draw(chart, ".svg", options or Options())
    assert isinstance(text, str)
    return ElementTree.fromstring(text)


def _classes(element: ElementTree.Element) -> list[str]:
    return element.get("class", "").split()


def _of_class(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if name in _classes(element))


def test_every_state_has_a_titled_element_with_a_stable_id(chart: Chart) -> None:
    root = _drawn(chart)
    found = {element.get("data-state"): element for element in _of_class(root, "state")}
    assert set(found) | {chart.root} == set(chart.states)
    for name, element in found.items():
        assert name is not None
        assert element.get("id") == state_id(name)
        title = element.find(f"{SVG}title")
        assert title is not None and title.text is not None and title.text.startswith(name)


def test_every_transition_can_be_found_by_its_index(chart: Chart) -> None:
    root = _drawn(chart)
    classes = {name for element in root.iter() for name in _classes(element)}
    assert {f"t{transition.index}" for transition in chart.transitions} <= classes


def test_ids_are_unique_and_every_text_has_its_length(chart: Chart) -> None:
    root = _drawn(chart)
    ids = [element.get("id") for element in root.iter() if element.get("id") is not None]
    assert len(ids) == len(set(ids))
    texts = list(root.iter(f"{SVG}text"))
    assert texts and all(float(text.get("textLength", "0")) > 0 for text in texts)


def test_what_runs_and_what_was_taken_is_marked(nested: Chart) -> None:
    configuration = {"run", "agent", "loop", "tool", "budget", "ok"}
    call = next(each for each in nested.transitions if "TOOL_CALL" in each.events and each.targets == ("tool",))
    root = _drawn(nested, Options(configuration=configuration, taken={call.index}))
    assert {element.get("data-state") for element in _of_class(root, "active")} == configuration
    (edge,) = (element for element in _of_class(root, "taken") if "edge" in _classes(element))
    assert (edge.get("data-source"), edge.get("data-target")) == ("thinking", "tool")


def test_kinds_of_states_look_different(nested: Chart) -> None:
    root = _drawn(nested)
    assert len(list(_of_class(root, "ring"))) == sum(state.kind == "final" for state in nested)
    assert {element.get("data-state") for element in _of_class(root, "region")} == {"agent", "budget"}
    assert [element.get("data-state") for element in _of_class(root, "deep-history")] == ["memory"]


@pytest.mark.parametrize(("theme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_themes_are_variables(nested: Chart, theme: Theme, colours: dict[str, str]) -> None:
    text = draw(nested, ".svg", Options(theme=theme))
    assert isinstance(text, str)
    for name, colour in colours.items():
        assert f"--rawko-{name}:{colour}" in text
    plain = to_svg(draw_scene(nested), theme=theme, has_variables=False)
    assert "var(" not in plain
    assert colours["paper"] in plain
    auto = draw(nested, ".svg", Options(theme="auto"))
    assert isinstance(auto, str) and "prefers-color-scheme:dark" in auto


def test_a_prefix_keeps_drawings_of_one_page_apart(nested: Chart) -> None:
    root = ElementTree.fromstring(to_svg(draw_scene(nested), prefix="second-"))
    ids = [str(element.get("id")) for element in root.iter() if element.get("id") is not None]
    assert ids and all(each.startswith("second-") for each in ids)


HOSTILE = [
    "</title><script>alert(1)</script>",
    '" onload="alert(1)',
    "'><image href=x>",
    "]]> <!-- &amp; &#60;",
    "👩\u200d💻 é 漢字",
    "a}b{c;d*/",
    "--x",
]
names = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=30
).map(str.strip).filter(bool)


@settings(max_examples=50, deadline=None)
@given(names, names, names)
def test_no_name_adds_an_element_or_attribute(state: str, event: str, log: str) -> None:
    plain = _shape(_drawn(one_state("plain", "EVENT", "text")))
    assert _shape(_drawn(one_state(state, event, log))) == plain


def _shape(root: ElementTree.Element) -> list[tuple[str, frozenset[str]]]:
    """Elements in their order with the names of their attributes; a long label may have more lines."""
    found = [(element.tag, frozenset(element.keys())) for element in root.iter()]
    return [each for place, each in enumerate(found) if not each[0].endswith("text") or found[place - 1] != each]


def test_ids_hold_no_marks_and_are_told_apart() -> None:
    tried = ["a b", "a.b", "a-b", "a.20.b", "é", "a_b", "A", "a"]
    made = [state_id(name) for name in tried]
    assert len(set(made)) == len(tried)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", each) for each in made)
