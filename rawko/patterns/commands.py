"""Patterns of command lines: `*` is any text, `?` one character, and ` *` at the end any further words or none."""

from __future__ import annotations

import re
from functools import lru_cache

from rawko.patterns.linear import Token, gap, linear_regex, one

_WILD: dict[str, Token] = {"*": gap("all"), "?": one("(?s:.)")}


@lru_cache(maxsize=256)
def command_regex(pattern: str) -> re.Pattern[str]:
    """For the whole of a command, its words joined by single spaces.

    `git push *` fits `git push` as well: a star after a space stands for any words, none included.
    """
    text = " ".join(pattern.split())
    is_open = text.endswith(" *")
    body = text[:-2] if is_open else text
    expression = linear_regex([_WILD.get(character) or one(re.escape(character)) for character in body])
    return re.compile(expression + ("(?: (?s:.*))?" if is_open else ""))
