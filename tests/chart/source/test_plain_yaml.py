"""Texts that are written plainly: read line by line as from the parser's events, and all others left to these."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rawko.chart.errors import ChartSyntaxError
from rawko.chart.source.composer import MAX_DEPTH, compose, compose_events
from rawko.chart.source.plain_yaml import MAX_CHARS, MAX_LINE, compose_plain
from tests.bench import charts
from tests.bench.contenders.ours import text_of

SHIPPED = sorted((Path(__file__).parents[3] / "statecharts").rglob("*.yaml"))

KEYS = ("", "a: ", "b: ", "c:", "on entry: ", "'q': ", "10s: ", "$x: ", "1: ", "? ", "<<: ", "a : ", "a:")
DASHES = ("", "", "- ", "-  ", "- - ", "-")
TEXT = (
    "",
    "",
    "x",
    "x y",
    "x: y",
    "x:y",
    "x #",
    "x#y",
    "# c",
    "x # c",
    "-1",
    "- x",
    "-x",
    "?x",
    "x?",
    "it's",
    "x,y",
    "x]",
)
ODD = (
    "a&b",
    "~",
    "é",
    "²",
    "\u00a0",
    "x\u2028y",
    "x\ty",
    "\x85",
    "&x y",
    "*x",
    "!!str x",
    "@x",
    "`x",
    "%x",
    "---",
    "...",
)
QUOTED = ("'x'", '"x y"', "'x''y'", '"x\\n"', "'x'# c", "'x' # c", "'x", "'x' y")
BLOCKS = ("|", ">", "|-", ">-", "| # c", "|+", ">2")
LISTS = ("[]", "[a, [b]]", "[a,b]", "[a,]", "[ a , b ]", "[a b, 'c', \"d\"]", "[x?y]", "[a]b", "[{a: b}, c] # c")
MAPS = (
    "{}",
    "{a: b}",
    "{a: b, c: d e}",
    "{a: b,c: d}",
    "{ a: b }",
    "{a: b } # c",
    "{a: b}# c",
    "{a: b, a: c}",
    "{a:b}",
)
MORE_MAPS = (
    "{a: }",
    "{a}",
    "{'a': b}",
    "{a: [b, {c: d}], e: 1}",
    "{a: -1, b: -x}",
    "{a: x?}",
    "{a: up(by=1)}",
    "{a: b",
)
VALUES = TEXT + ODD + QUOTED + BLOCKS + LISTS + MAPS + MORE_MAPS
LINES = st.tuples(
    st.integers(0, 4).map(lambda levels: "  " * levels),
    st.sampled_from(("", "", "", " ")),
    st.sampled_from(DASHES),
    st.sampled_from(KEYS),
    st.sampled_from(VALUES),
    st.sampled_from(("", "", "", " ")),
).map("".join)
TEXTS = st.tuples(
    st.lists(LINES, max_size=6).map("\n".join), st.sampled_from(("", "\n", "\n\n", "\n  \n", "\n# end", "\r\n"))
).map("".join)


def check(text: str) -> None:
    """A text that is read as plain has the same tree from the parser's events, and no defect."""
    root = compose_plain(text)
    if root is None:
        return
    document = compose_events(text, "f")
    assert root == document.root
    assert document.diagnostics == []


@given(TEXTS)
@example("a: |\n  x")
@example("a: |\n  x\n\n  # y\n")
@example("a: >-\n  x\n     \n")
@example("- a\n- b: c\n  d: e\n")
@example("a:\n- b\n- c: d\ne: f\n")
@example("a:\n  - b\n c: d\n")
@example("a: b\n  c\n")
@example("a:\nb: c\n")
def test_a_plain_text_has_the_same_tree_as_from_the_parser(text: str) -> None:
    check(text)


@given(st.data())
def test_a_piece_of_a_chart_with_a_slip_in_it_has_the_same_tree_as_from_the_parser(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(SHIPPED)).read_text(encoding="utf-8").split("\n")
    start = data.draw(st.integers(0, len(lines) - 1))
    text = "\n".join(lines[start : start + data.draw(st.integers(1, 14))])
    place = data.draw(st.integers(0, len(text)))
    slip = data.draw(
        st.sampled_from(("", " ", "\n", ":", ": ", " #", "-", "- ", ",", "'", '"', "[", "}", "?", "|", "é"))
    )
    check(text[:place] + slip + text[place + data.draw(st.integers(0, 2)) :])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(SHIPPED[0].parents[1])))
def test_every_shipped_chart_is_plain(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert compose_plain(text) is not None
    check(text)


@pytest.mark.parametrize("with_code", [False, True])
def test_the_large_charts_of_the_benchmark_are_plain(with_code: bool) -> None:
    text = text_of(charts.thousand(with_code=with_code))
    assert compose_plain(text) is not None
    check(text)


def test_an_empty_text_is_left_to_the_parser() -> None:
    assert compose_plain("") is None
    assert compose_plain("# nothing\n") is None


def test_what_the_parser_limits_is_left_to_it() -> None:
    assert compose_plain(f"{'k' * 1025}: 1") is None
    assert compose_plain(f"a: {'x' * MAX_LINE}") is None
    assert compose_plain("a: 1\n" + "#\n" * (MAX_CHARS // 2)) is None
    nested = "\n".join("  " * depth + "k:" for depth in range(MAX_DEPTH)) + " 1"
    assert compose_plain(nested) is None
    assert compose_plain("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH) is None
    with pytest.raises(ChartSyntaxError, match="simple key"):
        compose(f"a: 1\n{'k' * 1025}: 1", "f")
