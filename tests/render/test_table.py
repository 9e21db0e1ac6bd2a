"""Tables of a chart: every state and transition once, nothing cut, and no name adds a cell or markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.chart import Chart, load_chart, parse_chart
from rawko.cli.authoring.diagrams import Drawing, diagram_command
from rawko.render.draw import Options, draw
from rawko.render.errors import UnknownStateError
from rawko.render.formats.table import to_tables
from tests.render.charts import one_state
from tests.render.test_svg import HOSTILE

NESTED = Path(__file__).with_name("nested.yaml")
CELL = re.compile(r"(?<!\\)\|")


def _rows(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """The cells of both tables, without their heads."""
    states, transitions = text.strip().split("\n\n")
    return tuple(
        [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in table.splitlines()[2:]]
        for table in (states, transitions)
    )  # type: ignore[return-value]


def test_every_state_and_transition_has_one_row(chart: Chart) -> None:
    states, transitions = _rows(to_tables(chart))
    assert [row[0] for row in states] == [f"`{name}`" for name in chart.states]
    assert len(transitions) == len(chart.transitions)
    targets = [", ".join(f"`{name}`" for name in each.targets) or "stays" for each in chart.transitions]
    assert [row[3] for row in transitions] == targets
    assert {len(row) for row in transitions} == {6} and {len(row) for row in states} == {4}


def test_nothing_is_cut() -> None:
    guard = " and ".join(f"is_ready_{number}" for number in range(20))
    chart = parse_chart(
        "statechart: {name: s, root state: {name: r, initial: a, states: [{name: a, description: About a, invoke: "
        f"{{src: fetch, id: f, timeout: 5s}}, transitions: [{{event: E, guard: {guard}, target: b, "
        "action: [one, two, three, four, five, six, seven, eight], description: Why}]}, {name: b, type: final}]}}"
    )
    text = to_tables(chart)
    assert f"`{guard}`" in text and "`one, two, three, four, five, six, seven, eight` | Why |" in text
    assert "invoke `f` (`fetch`), at most 5s" in text and "About a" in text and "initial `a`" in text


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*HOSTILE, "a|b", "`", "a`|`b", "| x |", "[x](http://y)", "*b* _i_", "<b>"]))
def test_no_name_adds_a_cell_or_markup(name: str) -> None:
    states, transitions = _rows(to_tables(one_state(name, "GO", name)))
    plain_states, plain = _rows(to_tables(one_state("plain", "GO", "plain")))
    assert [len(row) for row in (*states, *transitions)] == [len(row) for row in (*plain_states, *plain)]
    for cell in (cell for row in (*states, *transitions) for cell in row):
        bare = re.sub(r"`[^`]*`", "", cell.replace("<br>", ""))
        assert not re.search(r"(?<!\\)[<>\[\]*_`]", bare), cell


def test_a_page_holds_the_drawing_and_the_tables() -> None:
    nested = load_chart(NESTED)
    page = str(draw(nested, ".md"))
    assert page.startswith("# nested\n") and page.count("```") == 2 and "stateDiagram-v2" in page
    assert to_tables(nested) in page
    part = str(draw(nested, ".md", Options(focus="tool")))
    assert "| `tool` |" in part and "| `budget` | " not in part
    with pytest.raises(UnknownStateError):
        draw(nested, ".md", Options(focus="nothing"))


def test_what_a_page_cannot_show_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "chart.md"
    assert diagram_command(NESTED, out, Drawing(configuration=("tool",)), trusted=False) == 2
    assert "a page of tables marks no states" in capsys.readouterr().err
    assert diagram_command(NESTED, out, Drawing(agents=True), trusted=False) == 2
    assert not out.exists()
    assert diagram_command(NESTED, out, Drawing(), trusted=False) == 0 and out.is_file()
