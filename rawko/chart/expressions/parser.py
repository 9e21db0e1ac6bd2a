"""The parser of guards and calls; plain names and short calls, which are most texts, are recognised without it."""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import TypeVar

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
from rawko.chart.expressions.short_calls import short_call
from rawko.chart.expressions.tokens import (
    END,
    KEYWORDS,
    ROOTS,
    ExpressionError,
    Token,
    is_name,
    number,
    tokens,
    unquoted,
)
from rawko.chart.quick import quick

MAX_NESTING = 24

_make_guard = quick(GuardCall)
_make_call = quick(CallAction)

T = TypeVar("T")
Locate = Callable[[int], Position]
"""Maps an offset in the text to a position in the source."""


def parse_guard(text: str, locate: Locate) -> Guard:
    """The guard that a text describes.

    Raises:
        ExpressionError: The text is not a guard expression.
    """
    if is_name(text):
        return _make_guard(text, (), locate(0))
    short = short_call(text)
    if short is not None:
        return _make_guard(*short, locate(text.index(short[0])))
    parser = _Parser(text, locate)
    return parser.whole(parser.guard)


def parse_call(text: str, locate: Locate) -> CallAction:
    """The action call that a text describes: `name` or `name(key=argument)`.

    Raises:
        ExpressionError: The text is not a call.
    """
    if is_name(text):
        return _make_call(text, (), locate(0))
    short = short_call(text)
    if short is not None:
        return _make_call(*short, locate(text.index(short[0])))
    parser = _Parser(text, locate)
    return parser.whole(parser.action)


class _Parser:
    """A recursive descent parser whose depth MAX_NESTING limits."""

    def __init__(self, text: str, locate: Locate) -> None:
        self._tokens = tokens(text)
        self._at = 0
        self._depth = 0
        self._locate = locate

    def whole(self, rule: Callable[[], T]) -> T:
        value = rule()
        if self._next.kind != END:
            raise self._unexpected("the end")
        return value

    def guard(self) -> Guard:
        return self._nested(self._or)

    def action(self) -> CallAction:
        name = self._callable("an action")
        return CallAction(name.text, self._arguments(), self._locate(name.offset))

    @property
    def _next(self) -> Token:
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
        state = unquoted(self._advance())
        self._expect(")")
        return InState(state, self._locate(offset))

    def _callable(self, what: str) -> Token:
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

    def _keyword(self) -> Token:
        key = self._next
        if key.kind != "name" or self._tokens[self._at + 1].text != "=":
            raise self._unexpected("a keyword argument 'name=value'", looks_like_code=key.kind != END)
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
            return unquoted(self._advance())
        if token.kind == "number":
            return number(self._advance())
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
            key = unquoted(self._advance())
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

    def _advance(self) -> Token:
        token = self._next
        if token.kind != END:
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
        found = "the end" if token.kind == END else shown(token.text)
        # Python, not ours: two adjacent words, or the "=" of a comparison: `x in y`, `a if b else c`, `x == 1`.
        code = looks_like_code or (wanted == "the end" and token.text != ")")
        return ExpressionError(f"expected {wanted}, found {found}", token.offset, looks_like_code=code)
