"""Path patterns: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`. Text in, regular expression out.

Used by glob and grep (which hand the expression to their subprocess) and by the gate's rules.
"""

from __future__ import annotations

import re
from functools import lru_cache


class PatternError(ValueError):
    """The pattern is malformed; `message` says where and what would be accepted."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@lru_cache(maxsize=256)
def glob_regex(pattern: str) -> str:
    """A regular expression for the whole of a relative path, "/"-separated.

    Raises:
        PatternError: An open bracket or brace, an empty, absolute or climbing pattern.
    """
    if not pattern:
        raise PatternError("the pattern is empty; '**' matches everything")
    if pattern.startswith("/"):
        raise PatternError(f"the pattern {pattern!r} is absolute; patterns are relative, e.g. 'src/**/*.py'")
    if ".." in pattern.split("/"):
        raise PatternError(f"the pattern {pattern!r} climbs with '..'; patterns stay below their folder")
    return _Translation(pattern.removeprefix("./")).whole()


@lru_cache(maxsize=256)
def rule_regex(pattern: str) -> str:
    """Like `glob_regex`, as .gitignore reads it: a pattern without a slash matches a name at any depth, and what
    matches a folder matches everything in it.

    Raises:
        PatternError: As `glob_regex`.
    """
    anchored = pattern.rstrip("/")
    if "/" not in anchored and anchored != "**":
        anchored = f"**/{anchored}"
    return f"{glob_regex(anchored)}(?:/.*)?"


class _Translation:
    """One pass over the pattern, left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at, self._braces = pattern, 0, 0

    def whole(self) -> str:
        pieces = []
        while self._at < len(self._pattern):
            pieces.append(self._next())
        if self._braces:
            raise PatternError(f"the pattern {self._pattern!r} opens a '{{' that it does not close")
        return "".join(pieces)

    def _next(self) -> str:
        rest = self._pattern[self._at :]
        is_at_start = self._at == 0 or self._pattern[self._at - 1] in "/{,"
        if rest.startswith("**/") and is_at_start:
            return self._take(3, "(?:[^/]+/)*")
        if rest.startswith("**"):
            return self._take(len(rest) - len(rest.lstrip("*")), ".*")
        return self._one(rest)

    def _one(self, rest: str) -> str:
        character = rest[0]
        if character == "*":
            return self._take(1, "[^/]*")
        if character == "?":
            return self._take(1, "[^/]")
        if character == "[":
            return self._bracket(rest)
        if character == "{":
            self._braces += 1
            return self._take(1, "(?:")
        if character == "}" and self._braces:
            self._braces -= 1
            return self._take(1, ")")
        if character == "," and self._braces:
            return self._take(1, "|")
        if character == "\\" and len(rest) > 1:
            return self._take(2, re.escape(rest[1]))
        return self._take(1, re.escape(character))

    def _bracket(self, rest: str) -> str:
        # A "]" right after "[" or "[!" stands for itself, as in every shell.
        end = rest.find("]", 3 if rest[1:2] in ("!", "^") else 2)
        if end < 0:
            raise PatternError(f"the pattern {self._pattern!r} opens a '[' that it does not close; '\\[' is a bracket")
        body = rest[1:end]
        negation = "^" if body[0] in "!^" else ""
        members = body[1:] if negation else body
        # Every character escaped: sets of expressions have meanings (&&, --, \w) that those of globs have not.
        escaped = re.sub(r"(.)-(.)|(.)", _member, members, flags=re.DOTALL)
        expression = f"(?!/)[{negation}{escaped}]"
        try:
            re.compile(expression)
        except re.error as error:
            raise PatternError(f"the pattern {self._pattern!r} has a bad set [{body}]: {error}") from error
        return self._take(end + 1, expression)

    def _take(self, count: int, expression: str) -> str:
        self._at += count
        return expression


def _member(match: re.Match[str]) -> str:
    first, last, single = match.groups()
    return re.escape(single) if single is not None else f"{re.escape(first)}-{re.escape(last)}"
