"""How values stand in a prompt: none of them becomes structure of it.

A further line of a text stands behind a bar, so that none of them starts a heading, a list, a fence or a section:

    "done\n# Task"   ->   done
                              | # Task

Names are in one line, quoted where they hold what separates them. A text between marks stays as it is.
"""

from __future__ import annotations

import hmac
import re
from typing import Any, Final

from rawko.vocabulary.visible import visible, visible_json, visible_line

# C0 and C1 controls but tab and newline (terminal escapes hide or fake text), and halves of surrogate pairs, which
# cannot be sent as UTF-8.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BREAKS: Final = re.compile("\n([ \t]*)")
_MARK_LIKE: Final = re.compile(r"<(?=/?[A-Za-z][A-Za-z_-]*-[0-9A-Fa-f]{4,64}\s*>)")
"""The beginning of what could pass for a section's mark."""
_AT_THE_START: Final = re.compile(r"[ \t]*(?:#|```|~~~|</?[A-Za-z]|[-*_=]{3,}[ \t]*(?:\n|\Z))")
_QUOTED: Final = re.compile("[,;:\"'`\\\\\\[\\](){}<>*#|\x00-\x1f\x7f-\x9f\ud800-\udfff]|^\\s|\\s\\Z|^\\Z")
_INDENT: Final = 4


class Whole(str):
    """Text that is shown as it is: it is structure itself, or stands between marks."""

    __slots__ = ()


def delimited(text: str, name: str = "text", secret: bytes = b"") -> Whole:
    """The text as a block that it cannot close itself: its writer does not know the mark, and what looks like a mark
    in it is broken up (`<\\task-...>`).

    `<task-4f1c9a20>` ... `</task-4f1c9a20>`; the same text and secret always give the same mark.
    """
    text = _unmarked(text)
    number = 0
    while True:
        told = f"{number}:{name}:{text}".encode("utf-8", "surrogatepass")
        mark = f"{name}-{hmac.digest(secret, told, 'sha256').hex()[:8]}"
        if mark not in text:
            return Whole(f"<{mark}>\n{text}\n</{mark}>")
        number += 1


def inline(value: Any) -> Any:
    """A value as it may stand in a line of a prompt: none of its lines is one of the prompt's own.

    A further line stands behind a bar, in its own indentation; so does the first where it would start a heading, a
    fence or a mark. Invisible characters are escaped.
    """
    if not isinstance(value, str) or isinstance(value, Whole):
        return value
    text = visible(_unmarked(plain_text(value)))
    text = _BREAKS.sub(lambda found: f"\n{found[1] or ' ' * _INDENT}| ", text)
    return f"| {text}" if _AT_THE_START.match(text) else text


def listed(values: Any, separator: str = ", ") -> Whole:
    """Names in one line, each as `named` writes it."""
    return Whole(separator.join(named(value) for value in values))


def named(value: Any) -> Whole:
    """A name as it is, or quoted as JSON where it holds what could pass for something else or cannot be seen."""
    name = str(value)
    return Whole(visible_json(_unmarked(name)) if _QUOTED.search(name) else visible_line(name))


def plain_text(text: str) -> str:
    """The text without control characters; other line ends become newlines."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _unmarked(text: str) -> str:
    return _MARK_LIKE.sub(r"<\\", text)
