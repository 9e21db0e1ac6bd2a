"""Splits texts of the expression language into tokens, and reports texts that cannot be split."""

from __future__ import annotations

import json
import re
from keyword import iskeyword
from typing import Final, Literal, NamedTuple

from rawko.chart.errors import shown

MAX_LENGTH = 10_000
MAX_DIGITS = 400

KEYWORDS: Final = frozenset(("and", "or", "not", "true", "false", "null", "in_state"))
ROOTS: Final[tuple[Literal["event", "context"], ...]] = ("event", "context")


# A name is a Python identifier, because it is bound to a Python function. Numbers are those of JSON.
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<name>[^\W\d]\w*)
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.]))
      | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
      | (?P<mark>[()=,.\[\]{}:])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "'": "'", '"': '"'}


def is_name(text: str) -> bool:
    """Whether a text is a single name that can be bound: this is the most frequent expression, and needs no parser."""
    return text.isidentifier() and text not in KEYWORDS and not iskeyword(text) and len(text) <= MAX_LENGTH


class ExpressionError(ValueError):
    """A text that is not an expression.

    Attributes:
        offset: Position of the error, in characters from the start of the text.
        looks_like_code: Whether the text is probably Python.
    """

    def __init__(self, message: str, offset: int, *, looks_like_code: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.looks_like_code = looks_like_code


class Token(NamedTuple):
    """A piece of an expression: name, number, string, mark or the end; `offset` counts characters from the start."""

    kind: str
    text: str
    offset: int


END: Final = "end"


def tokens(text: str) -> list[Token]:
    """All tokens of a text, ending with the `END` token; raises ExpressionError at an unknown character."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters", 0)
    found: list[Token] = []
    offset = 0
    while offset < len(text):
        token = _TOKEN.match(text, offset)
        if token is None:
            raise _unreadable(text, offset)
        kind = token.lastgroup
        assert kind is not None
        if kind != "space":
            found.append(Token(kind, token.group(), offset))
        offset = token.end()
    found.append(Token(END, "", len(text)))
    return found


def _unreadable(text: str, offset: int) -> ExpressionError:
    if text[offset] in "'\"":
        return ExpressionError("a string that is not closed", offset)
    return ExpressionError(f"unexpected {shown(text[offset])}", offset, looks_like_code=True)


def number(token: Token) -> int | float:
    """The number of a token; raises ExpressionError if it is too long or too large."""
    text = token.text
    if len(text) > MAX_DIGITS:
        raise ExpressionError(f"a number of {len(text)} digits is too long", token.offset)
    number = json.loads(text)
    if number in (float("inf"), float("-inf")):
        raise ExpressionError(f"{shown(text)} is beyond the largest number", token.offset)
    assert isinstance(number, (int, float))
    return number


def unquoted(token: Token) -> str:
    """The text of a string token, with its escapes resolved."""

    def replaced(escape: re.Match[str]) -> str:
        body = escape.group(1)
        if len(body) == 5 and not 0xD800 <= int(body[1:], 16) <= 0xDFFF:
            return chr(int(body[1:], 16))
        if body not in _ESCAPES:
            raise ExpressionError(f"unknown escape {shown(escape.group())}", token.offset + 1 + escape.start())
        return _ESCAPES[body]

    return _ESCAPE.sub(replaced, token.text[1:-1])
