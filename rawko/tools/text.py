"""Prepares text that tools show to a model: bounded, without terminal control codes, sizes in readable units."""

from __future__ import annotations

import re

from rawko.cutting import cut
from rawko.vocabulary.visible import visible_json, visible_line

MAX_LINE_CHARS = 2000
"""Longest line that a tool shows whole, in characters."""

# ECMA-48: OSC/DCS/SOS/PM/APC strings end with BEL or ST; a string without an end swallows only its own line,
# so that a lone ESC ] cannot hide the rest of the output. CSI: parameters, intermediates, final byte.
_TERMINAL = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_TEXT_PICTURES = {code: picture for code, picture in _PICTURES.items() if code not in (0x09, 0x0A)}


def printed(text: str) -> str:
    """Terminal output as plain text: escape sequences and control characters are removed, a carriage return becomes a
    new line (progress bars become lines). Tabs and newlines stay."""
    plain = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", plain)


def visible(text: str) -> str:
    """Text of a file with each control character replaced by its picture (ESC is ␛): a reader sees it, and a terminal
    does not obey it. Tabs and newlines stay."""
    return text.translate(_TEXT_PICTURES)


def shown_name(name: str) -> str:
    """A file's name on one line: unchanged, or as a JSON string if it contains invisible characters."""
    return name if visible_line(name) == name else visible_json(name)


def cut_line(line: str, limit: int = MAX_LINE_CHARS) -> str:
    """The line, or its beginning and the number of missing characters."""
    return cut(line, limit, " [… {more} more characters]", is_beyond=True)


def size(count: int) -> str:
    """A number of bytes in readable units: `512 bytes`, `1.5 MB` (powers of 1000)."""
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    exponent = min((len(str(count)) - 1) // 3, 4)
    return f"{count / 1000**exponent:.1f} {('kB', 'MB', 'GB', 'TB')[exponent - 1]}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 match`, `3 matches`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
