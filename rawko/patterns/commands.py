"""Patterns of command lines: `*` matches any text, `?` one character, a final ` *` any further words, or no word."""

from __future__ import annotations

import re
from functools import lru_cache

from rawko.patterns.linear import Token, gap, linear_regex, one

_WILD: dict[str, Token] = {"*": gap("all"), "?": one("(?s:.)")}


@lru_cache(maxsize=256)
def command_regex(pattern: str) -> re.Pattern[str]:
    """A regular expression for the whole text of a command, its words joined by single spaces.

    Example: `git push *` matches `git push origin` and also `git push`, because a final ` *` matches zero words too.
    """
    text = " ".join(pattern.split())
    is_open = text.endswith(" *")
    body = text[:-2] if is_open else text
    expression = linear_regex([_WILD.get(character) or one(re.escape(character)) for character in body])
    return re.compile(expression + ("(?: (?s:.*))?" if is_open else ""))
