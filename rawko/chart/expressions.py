"""Parses guard expressions and action calls: text to `Guard` and `CallAction`. It never evaluates them.

    guard    = or
    or       = and ("or" and)*
    and      = not ("and" not)*
    not      = "not" not | primary
    primary  = "(" guard ")" | "true" | "false" | "in_state" "(" string ")" | call
    call     = name [ "(" [ name "=" argument ("," name "=" argument)* [","] ] ")" ]
    argument = literal | ("event" | "context") ("." field)*
    field    = name that does not start with "_"
    literal  = number | string | "true" | "false" | "null"
             | "[" [literal ("," literal)* [","]] "]" | "{" [string ":" literal ("," ...)* [","]] "}"

The caller decides whether a text is Python; an error only says whether the text looks like Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from keyword import iskeyword
from typing import Final, Literal, NamedTuple, TypeVar

from rawko.chart.definition import (
    And,
    Argument,
    Arguments,
    CallAction,
    Constant,
    Guard,
    GuardCall,
    InState,
    Json,
    LiteralArgument,
    Not,
    Or,
    Position,
    Reference,
    is_field,
)
from rawko.chart.errors import shown
from rawko.chart.quick import quick
from rawko.chart.short_calls import short_call

MAX_NESTING = 24
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

_make_guard = quick(GuardCall)
_make_call = quick(CallAction)

T = TypeVar("T")
Locate = Callable[[int], Position]
"""Maps an offset in the text to a position in the source."""


class ExpressionError(ValueError):
    """A text that is not an expression.

    Attributes:
        offset: Of the error, in characters from the start of the text.
        looks_like_code: The text is probably Python.
    """

    def __init__(self, message: str, offset: int, *, looks_like_code: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.looks_like_code = looks_like_code


def parse_guard(text: str, locate: Locate) -> Guard:
    """The guard that a text describes.

    Raises:
        ExpressionError: The text is not a guard expression.
    """
    if _is_plain_name(text):
        return _make_guard(text, (), locate(0))
    short = short_call(text)
    if short is not None and _is_plain_name(short[0]):
        return _make_guard(*short, locate(text.index(short[0])))
    parser = _Parser(text, locate)
    return parser.whole(parser.guard)


def parse_call(text: str, locate: Locate) -> CallAction:
    """The action call that a text describes: `name` or `name(key=argument)`.

    Raises:
        ExpressionError: The text is not a call.
    """
    if _is_plain_name(text):
        return _make_call(text, (), locate(0))
    short = short_call(text)
    if short is not None and _is_plain_name(short[0]):
        return _make_call(*short, locate(text.index(short[0])))
    parser = _Parser(text, locate)
    return parser.whole(parser.action)


def _is_plain_name(text: str) -> bool:
    """Whether the text is a single name: by far the most frequent expression, which needs no parser."""
    return text.isidentifier() and text not in KEYWORDS and not iskeyword(text) and len(text) <= MAX_LENGTH


def format_guard(guard: Guard) -> str:
    """Text from which `parse_guard` makes the same guard (for a CodeGuard, its code)."""
    match guard:
        case Not(operand):
            return f"not {_bracketed(operand)}"
        case And(operands):
            return " and ".join(_bracketed(operand) for operand in operands)
        case Or(operands):
            return " or ".join(_bracketed(operand) for operand in operands)
        case Constant(value):
            return "true" if value else "false"
        case InState(state):
            return f"in_state({quoted(state)})"
        case GuardCall(name, arguments):
            return format_call(name, arguments)
        case _:
            return guard.code


def format_call(name: str, arguments: Arguments) -> str:
    """`name` or `name(key=argument, ...)`."""
    if not arguments:
        return name
    given = ", ".join(f"{key}={_format_argument(argument)}" for key, argument in arguments)
    return f"{name}({given})"


def quoted(text: str) -> str:
    """A string literal of the expression language."""
    body = json.dumps(text, ensure_ascii=False)[1:-1].replace("'", "\\'")
    return f"'{body}'"


def _bracketed(guard: Guard) -> str:
    text = format_guard(guard)
    return f"({text})" if isinstance(guard, (And, Or)) else text


def _format_argument(argument: Argument) -> str:
    return str(argument) if isinstance(argument, Reference) else _format_literal(argument.value)


def _format_literal(value: Json) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_format_literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {_format_literal(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


class _Token(NamedTuple):
    kind: str
    text: str
    offset: int


_END: Final = "end"


def _tokens(text: str) -> list[_Token]:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters", 0)
    found: list[_Token] = []
    offset = 0
    while offset < len(text):
        token = _TOKEN.match(text, offset)
        if token is None:
            raise _unreadable(text, offset)
        kind = token.lastgroup
        assert kind is not None
        if kind != "space":
            found.append(_Token(kind, token.group(), offset))
        offset = token.end()
    found.append(_Token(_END, "", len(text)))
    return found


def _unreadable(text: str, offset: int) -> ExpressionError:
    if text[offset] in "'\"":
        return ExpressionError("a string that is not closed", offset)
    return ExpressionError(f"unexpected {shown(text[offset])}", offset, looks_like_code=True)


class _Parser:
    """A recursive descent parser whose depth MAX_NESTING limits."""

    def __init__(self, text: str, locate: Locate) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._locate = locate

    def whole(self, rule: Callable[[], T]) -> T:
        value = rule()
        if self._next.kind != _END:
            raise self._unexpected("the end")
        return value

    def guard(self) -> Guard:
        return self._nested(self._or)

    def action(self) -> CallAction:
        name = self._callable("an action")
        return CallAction(name.text, self._arguments(), self._locate(name.offset))

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _or(self) -> Guard:
        operands = self._joined("or", self._and)
        return operands[0] if len(operands) == 1 else Or(operands)

    def _and(self) -> Guard:
        operands = self._joined("and", self._not)
        return operands[0] if len(operands) == 1 else And(operands)

    def _joined(self, word: str, operand: Callable[[], Guard]) -> tuple[Guard, ...]:
        operands = [operand()]
        while self._take(word):
            operands.append(operand())
        return tuple(operands)

    def _not(self) -> Guard:
        return Not(self._nested(self._not)) if self._take("not") else self._primary()

    def _primary(self) -> Guard:
        if self._take("("):
            inner = self.guard()
            self._expect(")")
            return inner
        for word, value in (("true", True), ("false", False)):
            if self._take(word):
                return Constant(value)
        if self._next.text == "in_state":
            return self._in_state()
        name = self._callable("a guard")
        return GuardCall(name.text, self._arguments(), self._locate(name.offset))

    def _in_state(self) -> InState:
        offset = self._advance().offset
        self._expect("(")
        if self._next.kind != "string":
            raise ExpressionError("in_state takes the name of one state in quotes", self._next.offset)
        state = _unquoted(self._advance())
        self._expect(")")
        return InState(state, self._locate(offset))

    def _callable(self, what: str) -> _Token:
        token = self._next
        if token.kind != "name" or token.text in KEYWORDS or iskeyword(token.text):
            raise self._unexpected(f"the name of {what}", looks_like_code=iskeyword(token.text))
        self._at += 1
        if self._next.text in (".", "="):
            raise self._unexpected(f"{what} by name", looks_like_code=True)
        return token

    def _arguments(self) -> Arguments:
        if not self._take("("):
            return ()
        given: dict[str, Argument] = {}
        while not self._take(")"):
            key = self._keyword()
            if key.text in given:
                raise ExpressionError(f"argument {shown(key.text)} is given twice", key.offset)
            self._expect("=")
            given[key.text] = self._argument()
            if self._next.text != ")":
                self._expect(",")
        return tuple(given.items())

    def _keyword(self) -> _Token:
        key = self._next
        if key.kind != "name" or self._tokens[self._at + 1].text != "=":
            raise self._unexpected("a keyword argument 'name=value'", looks_like_code=key.kind != _END)
        return self._advance()

    def _argument(self) -> Argument:
        for root in ROOTS:
            if self._take(root):
                return Reference(root, self._path())
        return LiteralArgument(self._nested(self._literal))

    def _path(self) -> tuple[str, ...]:
        path: list[str] = []
        while self._take("."):
            if self._next.kind != "name":
                raise self._unexpected("the name of a field")
            if not is_field(self._next.text):
                raise self._unexpected("the name of a field; no field that starts with '_' can be read")
            path.append(self._advance().text)
        if self._next.text in ("(", "["):
            raise self._unexpected("the end of the reference", looks_like_code=True)
        return tuple(path)

    def _literal(self) -> Json:
        token = self._next
        if token.kind == "string":
            return _unquoted(self._advance())
        if token.kind == "number":
            return _number(self._advance())
        if self._take("["):
            return self._items()
        if self._take("{"):
            return self._entries()
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self._take(word):
                return value
        what = "a literal (number, string, true, false, null, [...], {...}) or event.… or context.…"
        raise self._unexpected(what, looks_like_code=token.kind == "name")

    def _items(self) -> list[Json]:
        items: list[Json] = []
        while not self._take("]"):
            items.append(self._nested(self._literal))
            if self._next.text != "]":
                self._expect(",")
        return items

    def _entries(self) -> dict[str, Json]:
        entries: dict[str, Json] = {}
        while not self._take("}"):
            if self._next.kind != "string":
                raise self._unexpected("a key in quotes")
            key = _unquoted(self._advance())
            self._expect(":")
            entries[key] = self._nested(self._literal)
            if self._next.text != "}":
                self._expect(",")
        return entries

    def _nested(self, rule: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise ExpressionError(f"nested deeper than {MAX_NESTING} levels", self._next.offset)
        value = rule()
        self._depth -= 1
        return value

    def _advance(self) -> _Token:
        token = self._next
        if token.kind != _END:
            self._at += 1
        return token

    def _take(self, text: str) -> bool:
        token = self._next
        if token.text != text or token.kind not in ("name", "mark"):
            return False
        self._at += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._unexpected(repr(text))

    def _unexpected(self, wanted: str, *, looks_like_code: bool = False) -> ExpressionError:
        token = self._next
        found = "the end" if token.kind == _END else shown(token.text)
        # Python, not ours: two adjacent words, or the "=" of a comparison: `x in y`, `a if b else c`, `x == 1`.
        code = looks_like_code or (wanted == "the end" and token.text != ")")
        return ExpressionError(f"expected {wanted}, found {found}", token.offset, looks_like_code=code)


def _number(token: _Token) -> int | float:
    text = token.text
    if len(text) > MAX_DIGITS:
        raise ExpressionError(f"a number of {len(text)} digits is too long", token.offset)
    number = json.loads(text)
    if number in (float("inf"), float("-inf")):
        raise ExpressionError(f"{shown(text)} is beyond the largest number", token.offset)
    assert isinstance(number, (int, float))
    return number


def _unquoted(token: _Token) -> str:
    def replaced(escape: re.Match[str]) -> str:
        body = escape.group(1)
        if len(body) == 5 and not 0xD800 <= int(body[1:], 16) <= 0xDFFF:
            return chr(int(body[1:], 16))
        if body not in _ESCAPES:
            raise ExpressionError(f"unknown escape {shown(escape.group())}", token.offset + 1 + escape.start())
        return _ESCAPES[body]

    return _ESCAPE.sub(replaced, token.text[1:-1])
