"""Cuts long texts for messages, lists and prompts; a marker shows the reader that a text was cut.

cut("abcdefgh", 6)                    "abc..."           6 characters in all
cut("abcdefgh", 6, "…")               "abcde…"           6 characters in all
cut("abcdefgh", 6, is_beyond=True)    "abcdef..."        6 characters of the text, and the marker
cut_line("ab  cd\nef gh", 6)          "ab cd…"           one line, no space before the marker
cut_middle("abcdefgh", 4, "…")        "ab…gh"            4 characters of the text, and the marker
"""

from __future__ import annotations


def cut(text: str, limit: int, marker: str = "...", *, is_beyond: bool = False) -> str:
    """The text; where it is longer than `limit` characters, its beginning and a marker.

    Args:
        marker: Text in place of the rest; `{more}` in it becomes the number of characters that were cut off.
        is_beyond: The marker does not count: the result has `limit` characters of the text, and the marker.
    """
    if len(text) <= limit:
        return text
    kept = limit if is_beyond else max(limit - len(marker), 0)
    return text[:kept] + marker.replace("{more}", str(len(text) - kept))


def cut_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters: runs of white space become one space; an ellipsis shows a
    cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut_middle(text: str, limit: int, marker: str) -> str:
    """The text; where it is longer, `limit` characters of it, half from the beginning and half from the end, and a
    marker."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}{marker}{text[-(limit // 2) :]}"
