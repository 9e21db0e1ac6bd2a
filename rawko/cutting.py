"""Long texts cut short for messages, lists and prompts; a marker shows the reader that a text was cut.

cut("abcdefgh", 6)                    "abc..."           6 characters in all
cut("abcdefgh", 6, "…")               "abcde…"           6 characters in all
cut("abcdefgh", 6, is_beyond=True)    "abcdef..."        6 characters of the text, and the marker
cut_line("ab  cd\nef gh", 6)          "ab cd…"           one line, no space before the marker
cut_middle("abcdefgh", 4, "…")        "ab…gh"            4 characters of the text, and the marker
"""

from __future__ import annotations


def cut(text: str, limit: int, marker: str = "...", *, is_beyond: bool = False) -> str:
    """The text, or its beginning and a marker where it is longer than `limit` characters.

    Args:
        marker: What stands for the rest; `{more}` in it is the number of characters that were cut off.
        is_beyond: The marker is not counted: `limit` characters of the text itself are kept.
    """
    if len(text) <= limit:
        return text
    kept = limit if is_beyond else max(limit - len(marker), 0)
    return text[:kept] + marker.replace("{more}", str(len(text) - kept))


def cut_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters: white space is one space, and an ellipsis shows that it was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut_middle(text: str, limit: int, marker: str) -> str:
    """The text, or `limit` characters of it, half from its beginning and half from its end, with a marker between."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}{marker}{text[-(limit // 2) :]}"
