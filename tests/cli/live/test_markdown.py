"""A model's text cut into blocks while it arrives, and drawn as Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.cli.live.markdown import MAX_BLOCK_CHARS, Blocks, rendered
from rawko.cli.live.wrapping import cells

TEXTS = {
    "paragraphs": ("One.\n\nTwo.\n\n", ["One.\n", "Two.\n"]),
    "a list with gaps is one block": ("- a\n\n- b\n\n  more\n\nEnd", ["- a\n\n- b\n\n  more\n", "End"]),
    "a code block ends with its fence": ("```py\nx\n\ny\n```\n\nEnd", ["```py\nx\n\ny\n```\n", "End"]),
    "a longer fence holds a shorter one": ("````\n```\n\n```\n````\n\nEnd", ["````\n```\n\n```\n````\n", "End"]),
    "an open fence": ("```\nx\n\ny", ["```\nx\n\ny"]),
    "nothing": ("\n\n\n", []),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_blocks(name: str, size: int) -> None:
    text, expected = TEXTS[name]
    blocks, found = Blocks(), []
    for start in range(0, len(text), size):
        found += blocks.feed(text[start : start + size])
    assert [block.rstrip("\n") for block in found + blocks.end()] == [block.rstrip("\n") for block in expected]
    assert blocks.rest == ""


@given(st.text(st.sampled_from("ab -`#>\n1."), max_size=300), st.integers(1, 50))
def test_no_character_of_a_line_is_lost(text: str, size: int) -> None:
    blocks, found = Blocks(), []
    for start in range(0, len(text), size):
        found += blocks.feed(text[start : start + size])
    found += blocks.end()
    assert [line for block in found for line in block.split("\n") if line.strip()] == [
        line for line in text.split("\n") if line.strip()
    ]


def test_a_block_without_an_end_is_printed_in_parts() -> None:
    blocks = Blocks()
    found = [block for _ in range(30) for block in blocks.feed("x" * 999 + "\n")]
    assert found
    assert all(len(block) <= MAX_BLOCK_CHARS + 1000 for block in found)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_drawn_markdown_keeps_to_the_width(columns: int) -> None:
    text = "# Head\n\nA **bold** word and [a link](http://example.invalid/x), " + "word " * 40 + "\n\n- item " * 3
    lines = rendered(text, columns).split("\n")
    assert all(cells(line) < columns for line in lines)
    assert all(line.startswith("    ") or not line for line in (re.sub("\x1b\\[[0-9;]*m", "", one) for one in lines))


def test_a_link_shows_where_it_leads_and_is_no_escape_sequence() -> None:
    found = rendered("[safe](http://evil.invalid)", 80)
    assert "evil.invalid" in found
    assert "\x1b]" not in found
    assert "[red]" in rendered("[red]not markup[/red]", 80)
