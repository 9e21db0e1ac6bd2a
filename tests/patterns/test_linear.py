"""Patterns against a plain matcher that tries everything, and patterns that would stall one that looks back."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.patterns.commands import command_regex
from rawko.patterns.globs import MAX_ALTERNATIVES, PatternError, glob_regex, rule_regex
from rawko.patterns.ignorefile import Level
from rawko.patterns.linear import Token, gap, linear_regex, one

tokens = st.lists(
    st.sampled_from([one("a"), one("b"), one("/"), one("[^/]"), gap("star"), gap("star"), gap("all")]), max_size=9
)
component = st.lists(st.sampled_from([one("a"), one("b"), one("[^/]"), gap("star")]), min_size=1, max_size=4)


def fits(tokens: tuple[Token, ...], text: str) -> bool:
    """Every way of filling every gap."""

    @cache
    def at(token: int, place: int) -> bool:
        if token == len(tokens):
            return place == len(text)
        kind, value = tokens[token]
        if kind == "one":
            return place < len(text) and bool(re.fullmatch(value, text[place])) and at(token + 1, place + 1)
        filled = {"star": "[^/]*", "folders": "(?:[^/]+/)*", "all": "(?s:.*)"}[value]
        ends = range(place, len(text) + 1)
        return any(re.fullmatch(filled, text[place:end]) and at(token + 1, end) for end in ends)

    return at(0, 0)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tokens=tokens, text=st.text("ab/", max_size=12))
def test_the_first_place_that_fits_loses_no_match(tokens: list[Token], text: str) -> None:
    assert bool(re.fullmatch(linear_regex(tokens), text)) == fits(tuple(tokens), text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    parts=st.lists(st.one_of(component, st.just([gap("folders")])), min_size=1, max_size=6),
    text=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6).map("/".join),
)
def test_folders_are_skipped_where_any_way_of_skipping_fits(parts: list[list[Token]], text: str) -> None:
    tokens: list[Token] = []
    for number, part in enumerate(parts):
        is_slashed = part != [gap("folders")] and number < len(parts) - 1
        tokens += [*part, *([one("/")] if is_slashed else [])]
    assert bool(re.fullmatch(linear_regex(tokens), text)) == fits(tuple(tokens), text)


@settings(max_examples=150, deadline=None)
@given(pattern=st.text("ab *?", min_size=1, max_size=8), text=st.text("ab ", max_size=10))
def test_a_pattern_of_commands_is_read_as_documented(pattern: str, text: str) -> None:
    words = " ".join(pattern.split())
    body, is_open = (words[:-2], True) if words.endswith(" *") else (words, False)
    wild = {"*": gap("all"), "?": one("(?s:.)")}
    parts = tuple(wild.get(character) or one(character) for character in body)
    ends = [text, *(text[:end] for end in range(len(text)) if text[end] == " " and is_open)]
    assert bool(command_regex(pattern).fullmatch(text)) == any(fits(parts, end) for end in ends)


LONG = "a" * 4000
STALLING = ["*a" * 30 + "*b", "*a" * 300 + "*b", "a*" * 30 + "b", "?*" * 40 + "b", "*" * 200 + "b", "*?a" * 50 + "b"]
STALLING_PATHS = [
    *("**/a*/" * 30 + "b", "**/*a*/" * 20 + "b", "**/" * 100 + "b", "**a" * 40 + "b", "{a,*a}" * 7 + "b"),
    *("*/" * 100 + "b", "**/a*/**/a*", "{**/a,**/*a}/**/{a*b,*b}"),
]
PATHS = [LONG, "/".join(["a" * 20] * 190), "/".join(["a"] * 2000), "a/" * 1000 + "c"]


@pytest.fixture
def clock() -> Iterator[None]:
    """Ends a test that stalls; one that does not needs a few milliseconds."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError("the pattern stalls")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("pattern", STALLING)
def test_a_rule_of_many_stars_answers(pattern: str) -> None:
    """One that looks back would need longer than the universe is old."""
    assert command_regex(pattern).fullmatch(LONG + "c") is None
    assert command_regex(pattern).fullmatch("a b" * 10_000 + "c") is None
    assert command_regex(pattern).fullmatch(LONG + "b")


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("pattern", [*STALLING, *STALLING_PATHS])
def test_a_path_of_many_stars_answers(pattern: str) -> None:
    for expression in (glob_regex(pattern), rule_regex(pattern)):
        for path in PATHS:
            re.fullmatch(expression, path, re.IGNORECASE)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("pattern", [*STALLING, *STALLING_PATHS[:4], "[ab]*" * 50 + "[!a]"])
def test_an_ignore_file_of_many_stars_answers(pattern: str) -> None:
    for line in (pattern, "/" + pattern, pattern + "/", "x\n" * 100 + pattern):
        rules = Level(line.encode())
        for path in PATHS:
            rules.decide(path.rpartition("/")[2].encode(), path.encode(), False)


@pytest.mark.parametrize(
    "pattern", ["{a,b}" * 12, "{" * 3000 + "}" * 3000, "{" * 600 + "a" + "}" * 600, "a" * 5000, "{a," * 100 + "}" * 100]
)
def test_braces_are_bounded(pattern: str) -> None:
    try:
        expression = glob_regex(pattern)
    except PatternError as error:
        assert "more than" in error.message or "too deeply" in error.message or "at most" in error.message
    else:
        assert expression.count("|") < MAX_ALTERNATIVES


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{a,b{c,d}}e", {"ae", "bce", "bde"}),
        ("{,a}b", {"b", "ab"}),
        ("{a}", {"a"}),
        (r"\{a,b}", {"{a,b}"}),
        ("[{]a", {"{a"}),
        (r"{a\,b,c}", {"a,b", "c"}),
    ],
)
def test_braces_are_alternatives(pattern: str, expected: set[str]) -> None:
    texts = ["ae", "bce", "bde", "b", "ab", "a", "{a,b}", "{a", "a,b", "c", "be", ""]
    assert {text for text in texts if re.fullmatch(glob_regex(pattern), text)} == expected
