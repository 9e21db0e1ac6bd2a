"""Path patterns: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`. Text in, regular expression out.

`glob` and `grep` pass the expression to their subprocess; the gate compiles it for its rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final

from rawko.cutting import cut
from rawko.patterns.linear import Token, gap, linear_regex, one

MAX_ALTERNATIVES: Final = 256
"""The most patterns that one pattern with braces may expand to."""
MAX_CHARS: Final = 4096
"""The most characters of one pattern: the longest path of Linux."""


class PatternError(ValueError):
    """The pattern is malformed; `message` says where, and what is accepted."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@lru_cache(maxsize=256)
def glob_regex(pattern: str) -> str:
    """A regular expression for the whole of a relative path, "/"-separated.

    Raises:
        PatternError: The pattern has an unclosed bracket or brace, is empty, is absolute, or contains "..".
    """
    if not pattern:
        raise PatternError("the pattern is empty; '**' matches everything")
    if pattern.startswith("/"):
        raise PatternError(f"the pattern {pattern!r} is absolute; patterns are relative, e.g. 'src/**/*.py'")
    if ".." in pattern.split("/"):
        raise PatternError(f"the pattern {pattern!r} climbs with '..'; patterns stay below their folder")
    if len(pattern) > MAX_CHARS:
        raise PatternError(f"the pattern {cut(pattern, 40)!r} has {len(pattern)} characters; at most {MAX_CHARS}")
    alternatives = _Braces(pattern.removeprefix("./")).alternatives()
    return "|".join(f"(?:{linear_regex([*_tokens(one_of, pattern)])})" for one_of in alternatives)


@lru_cache(maxsize=256)
def rule_regex(pattern: str) -> str:
    """Like `glob_regex`, with the two rules of .gitignore: a pattern without a slash matches a name in any folder, and
    a pattern that matches a folder matches everything below it.

    Raises:
        PatternError: As `glob_regex`.
    """
    anchored = pattern.rstrip("/")
    if "/" not in anchored and anchored != "**":
        anchored = f"**/{anchored}"
    return f"(?:{glob_regex(anchored)})(?:/(?s:.*))?"


class _Braces:
    """Expands braces in one pass: `a{b,c{d,e}}` gives `ab`, `acd`, `ace`. Escaped characters and sets are copied."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0

    def alternatives(self) -> list[str]:
        return self._sequence(is_inside=False)

    def _sequence(self, *, is_inside: bool) -> list[str]:
        """All expansions of the text up to the comma or brace that ends it."""
        parts: list[list[str]] = []
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            if is_inside and character in ",}":
                break
            if character == "{":
                self._at += 1
                parts.append(self._choice())
            else:
                end = _piece_end(self._pattern, self._at)
                parts.append([self._pattern[self._at : end]])
                self._at = end
        self._bound(prod(map(len, parts)))
        return ["".join(texts) for texts in product(*parts)]

    def _choice(self) -> list[str]:
        texts: list[str] = []
        while True:
            try:
                texts += self._sequence(is_inside=True)
            except RecursionError:
                raise PatternError(f"the pattern {self._pattern!r} is nested too deeply") from None
            self._bound(len(texts))
            if self._at >= len(self._pattern):
                raise PatternError(f"the pattern {self._pattern!r} opens a '{{' that it does not close")
            self._at += 1
            if self._pattern[self._at - 1] == "}":
                return texts

    def _bound(self, count: int) -> None:
        if count > MAX_ALTERNATIVES:
            raise PatternError(
                f"the braces of the pattern {self._pattern!r} expand to more than {MAX_ALTERNATIVES} patterns"
            )


def _piece_end(pattern: str, at: int) -> int:
    """The index after the character, escaped character or set that begins at `at`."""
    if pattern[at] == "\\":
        return min(at + 2, len(pattern))
    if pattern[at] != "[":
        return at + 1
    # A "]" right after "[" or "[!" is a member of the set, as in every shell.
    end = pattern.find("]", at + (3 if pattern[at + 1 : at + 2] in ("!", "^") else 2))
    if end < 0:
        raise PatternError(f"the pattern {pattern!r} opens a '[' that it does not close; '\\[' is a bracket")
    return end + 1


def _tokens(text: str, pattern: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        start, at = at, _piece_end(text, at)
        piece = text[start:at]
        if text.startswith("**", start):
            is_component = text.startswith("**/", start) and (start == 0 or text[start - 1] == "/")
            at = start + 3 if is_component else len(text) - len(text[start:].lstrip("*"))
            yield gap("folders" if is_component else "all")
        elif piece == "*":
            yield gap("star")
        elif piece == "?":
            yield one("[^/]")
        elif piece[0] == "[":
            yield one(_set(piece[1:-1], pattern))
        else:
            yield one(re.escape(piece[-1]))


def _set(body: str, pattern: str) -> str:
    negation = "^" if body[0] in "!^" else ""
    members = body[1:] if negation else body
    # Every character is escaped: `&&`, `--` and `\w` have a meaning in sets of `re`, but none in sets of globs.
    escaped = re.sub(r"(.)-(.)|(.)", _member, members, flags=re.DOTALL)
    expression = f"(?!/)[{negation}{escaped}]"
    try:
        re.compile(expression)
    except re.error as error:
        raise PatternError(f"the pattern {pattern!r} has a bad set [{body}]: {error}") from error
    return expression


def _member(match: re.Match[str]) -> str:
    first, last, single = match.groups()
    return re.escape(single) if single is not None else f"{re.escape(first)}-{re.escape(last)}"
