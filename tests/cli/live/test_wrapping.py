"""Lines wrapped to a terminal's width, and the line that moves at its bottom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.app.following.activity import Activity, Doing
from rawko.cli.live.status import short_time, status_line
from rawko.cli.live.wrapping import cells, wrapped
from rawko.vocabulary.usage import Usage

WORDS = st.text(st.sampled_from("ab 日本é·"), max_size=200)


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("short", 40, ["short"]),
        ("  ▸ bash python3 -m pytest -q tests", 24, ["  ▸ bash python3 -m", "    pytest -q tests"]),
        ("one two three", 10, ["one two", " three"]),
        ("abcdefghijklmnop", 11, ["abcdefgh", "  ijklmnop"]),
        ("日本語日本語日本語", 13, ["日本語日本", "  語日本語"]),
    ],
)
def test_words_are_wrapped_with_a_hanging_indent(text: str, columns: int, lines: list[str]) -> None:
    assert wrapped(text, columns).split("\n") == lines


def test_styles_take_no_room_and_are_kept() -> None:
    painted = "  \x1b[34m▸\x1b[0m bash \x1b[2mpython3 -m pytest -q tests\x1b[0m"
    found = wrapped(painted, 24)
    assert [cells(line) for line in found.split("\n")] == [19, 19]
    assert found.replace("\n   ", "") == painted


@given(WORDS, st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(text: str, columns: int) -> None:
    lines = wrapped(text, columns).split("\n")
    assert all(cells(line) < columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


MANY = Usage(input_tokens=3000, cache_read_tokens=400, output_tokens=210, calls=2)


def line(columns: int, activity: Activity, **over: object) -> str:
    given = {"now": 112.0, "run_s": 75.0, "frame": 0, "columns": columns, "cells": cells, **over}
    return status_line(activity, MANY, 0.0123, **given)  # type: ignore[arg-type]


TOOL = Activity(agent="developer", iteration=2, doing=Doing.TOOL, words="bash make test", since=100.0)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            140,
            "⠋ developer · bash make test · 12 s · iteration 2 · 3,400 tokens in, 210 out · $0.0123 · 1 min 15 s in all"
            " · Ctrl-C stops",
        ),
        (120, "⠋ developer · bash make test · 12 s · iteration 2 · 3,400 tokens in, 210 out · $0.0123 · Ctrl-C stops"),
        (80, "⠋ developer · bash make test · 12 s · #2 · 3.4k/210 · $0.0123 · ^C stops"),
        (66, "⠋ developer · bash make test · 12 s · 3.4k/210 · ^C stops"),
        (52, "⠋ developer · bash make test · 12 s · ^C stops"),
        (40, "⠋ developer · bash make te… · 12 s · ^C"),
        (30, "⠋ developer · bash ma… · 12 s"),
        (20, "⠋ developer · bash…"),
    ],
)
def test_a_narrow_terminal_leaves_out_what_matters_least(columns: int, expected: str) -> None:
    found = line(columns, TOOL)
    assert cells(found) < columns
    assert found == expected


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (Activity(), "starting…"),
        (Activity(doing=Doing.MODEL, since=111.0), "asking the model…"),
        (Activity(doing=Doing.MODEL, since=104.0), "thinking… · 8 s"),
        (Activity(doing=Doing.MODEL, since=104.0, is_silent=False), "writing…"),
        (Activity(doing=Doing.MODEL, since=104.0, is_silent=False, thinking="hm"), "thinking…"),
        (Activity(agent="developer", doing=Doing.ARBITER, since=104.0), "the arbiter decides…"),
        (Activity(doing=Doing.DELAY, since=104.0, words="before the next try"), "waits: before the next try"),
        (Activity(doing=Doing.PERSON, since=104.0), "waits for a person"),
        (Activity(doing=Doing.WORKSPACE, since=104.0), "records the files…"),
        (Activity(doing=Doing.ENDED, since=104.0), "ending…"),
    ],
)
def test_what_is_done_is_said(activity: Activity, words: str) -> None:
    assert line(120, activity).startswith(f"⠋ {words}")


def test_money_that_was_not_counted_is_not_shown() -> None:
    assert "$" not in status_line(TOOL, MANY, None, now=112.0, run_s=75.0, frame=0, columns=200)
    assert "$" not in status_line(TOOL, MANY, 0.0, now=112.0, run_s=75.0, frame=0, columns=200)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (75, "1 min 15 s"), (3725, "1 h 2 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert short_time(seconds) == text
