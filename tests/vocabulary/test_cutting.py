"""Texts cut short: how much is kept, and that it shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.cutting import cut, cut_line, cut_middle


@pytest.mark.parametrize(
    ("text", "limit", "marker", "inside", "beyond"),
    [
        ("", 3, "...", "", ""),
        ("abc", 3, "...", "abc", "abc"),
        ("abcdefgh", 6, "...", "abc...", "abcdef..."),
        ("abcdefgh", 6, "…", "abcde…", "abcdef…"),
        ("abcdefgh", 6, " [{more} more]", " [8 more]", "abcdef [2 more]"),
        ("abc", 0, "…", "…", "…"),
        ("🙂🙂🙂🙂", 3, "…", "🙂🙂…", "🙂🙂🙂…"),
    ],
)
def test_a_text_is_cut_with_a_marker(text: str, limit: int, marker: str, inside: str, beyond: str) -> None:
    assert cut(text, limit, marker) == inside
    assert cut(text, limit, marker, is_beyond=True) == beyond


@given(st.text(), st.integers(3, 50))
def test_what_is_cut_is_a_beginning_and_no_longer_than_asked_for(text: str, limit: int) -> None:
    found = cut(text, limit)
    assert len(found) <= limit
    assert found == text or text.startswith(found.removesuffix("..."))
    assert cut(text, limit, is_beyond=True) in (text, text[:limit] + "...")


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [("a  b\n\tc", 9, "a b c"), ("ab  cd\nef gh", 6, "ab cd…"), ("ab  cd\nef gh", 7, "ab cd…"), (" ", 3, "")],
)
def test_a_line_ends_with_a_word_or_a_mark(text: str, limit: int, shown: str) -> None:
    assert cut_line(text, limit) == shown


@pytest.mark.parametrize(
    ("text", "limit", "shown"), [("abcd", 4, "abcd"), ("abcdefgh", 4, "ab…gh"), ("abcdefgh", 5, "ab…gh")]
)
def test_beginning_and_end_are_kept(text: str, limit: int, shown: str) -> None:
    assert cut_middle(text, limit, "…") == shown
