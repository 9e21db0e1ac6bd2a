"""Guard expressions: what they mean, where they fail, and that they are never code."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.chart.definition import (
    And,
    Argument,
    CallAction,
    Constant,
    Guard,
    GuardCall,
    InState,
    LiteralArgument,
    Not,
    Or,
    Position,
    Reference,
    is_field,
)
from rawko.chart.expressions.formatting import format_call, format_guard
from rawko.chart.expressions.parser import _Parser, parse_call, parse_guard
from rawko.chart.expressions.tokens import KEYWORDS, ExpressionError


def at(offset: int) -> Position:
    return Position("f", 1, offset + 1)


A, B, C = GuardCall("a"), GuardCall("b"), GuardCall("c")


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("a", A),
        ("a()", A),
        (" a ", A),
        ("not a", Not(A)),
        ("not not a", Not(Not(A))),
        ("a and b and c", And((A, B, C))),
        ("a or b and c", Or((A, And((B, C))))),
        ("(a or b) and c", And((Or((A, B)), C))),
        ("not a and b", And((Not(A), B))),
        ("not (a and b)", Not(And((A, B)))),
        ("true", Constant(True)),
        ("false or a", Or((Constant(False), A))),
        ("in_state('x y')", InState("x y")),
        ("größe_passt", GuardCall("größe_passt")),
        ("g(n=1)", GuardCall("g", (("n", LiteralArgument(1)),))),
        ("g(n=-1.5e2,)", GuardCall("g", (("n", LiteralArgument(-150.0)),))),
        ("g(s='it\\'s', t=\"x\")", GuardCall("g", (("s", LiteralArgument("it's")), ("t", LiteralArgument("x"))))),
        ("g(a=true, b=false, c=null)",
         GuardCall("g", (("a", LiteralArgument(True)), ("b", LiteralArgument(False)), ("c", LiteralArgument(None))))),
        ("g(a=[1, 'x', [true]], b={'k': {}})",
         GuardCall("g", (("a", LiteralArgument([1, "x", [True]])), ("b", LiteralArgument({"k": {}}))))),
        ("g(m=event.output.mode)", GuardCall("g", (("m", Reference("event", ("output", "mode"))),))),
        ("g(m=context)", GuardCall("g", (("m", Reference("context", ())),))),
        ("g(s='\\u00e9\\n')", GuardCall("g", (("s", LiteralArgument("é\n")),))),
        ("event", GuardCall("event")),
    ],
)  # fmt: skip
def test_what_expressions_mean(text: str, guard: Guard) -> None:
    assert parse_guard(text, at) == guard


@pytest.mark.parametrize(
    ("text", "offset", "message", "looks_like_code"),
    [
        ("", 0, "expected the name of a guard, found the end", False),
        ("a and", 5, "expected the name of a guard, found the end", False),
        ("a b", 2, "expected the end, found 'b'", True),
        ("(a", 2, "expected ')', found the end", False),
        ("a)", 1, "expected the end, found ')'", False),
        ("x > 3", 2, "unexpected '>'", True),
        ("x == 3", 2, "expected a guard by name, found '='", True),
        ("x.y", 1, "expected a guard by name, found '.'", True),
        ("f(3)", 2, "expected a keyword argument 'name=value', found '3'", True),
        ("f(x)", 2, "expected a keyword argument 'name=value', found 'x'", True),
        ("f(x=y)", 4, "expected a literal (number, string, true, false, null, [...], {...}) or event.… or context.…, "
                      "found 'y'", True),
        ("f(x=1, x=2)", 7, "argument 'x' is given twice", False),
        ("f(x=01)", 4, "unexpected '0'", True),
        ("f(x=event.)", 10, "expected the name of a field, found ')'", False),
        ("f(x=event.y())", 11, "expected the end of the reference, found '('", True),
        ("f(x='a)", 4, "a string that is not closed", False),
        ("f(x='\\q')", 5, "unknown escape '\\\\q'", False),
        ("in_state(x)", 9, "in_state takes the name of one state in quotes", False),
        ("lambda: 1", 0, "expected the name of a guard, found 'lambda'", True),
        ("True", 0, "expected the name of a guard, found 'True'", True),
        ("__import__('os').system('x')", 11, "expected a keyword argument 'name=value', found \"'os'\"", True),
        ("f(x={1: 2})", 5, "expected a key in quotes, found '1'", False),
    ],
)  # fmt: skip
def test_where_and_why_a_text_is_no_expression(text: str, offset: int, message: str, looks_like_code: bool) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_guard(text, at)
    assert (caught.value.offset, caught.value.message) == (offset, message)
    assert caught.value.looks_like_code is looks_like_code


@pytest.mark.parametrize("text", ["(" * 100_000, "not " * 2_000, "f(x=" + "[" * 9_000, "a" * 20_000])
def test_hostile_expressions_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"nested deeper than 24 levels|longer than 10000 characters"):
        parse_guard(text, at)


def test_an_action_is_one_call() -> None:
    assert parse_call("record(kind='tool')", at) == CallAction("record", (("kind", LiteralArgument("tool")),))
    with pytest.raises(ExpressionError, match="expected the end, found 'and'"):
        parse_call("a and b", at)
    with pytest.raises(ExpressionError, match="expected the name of an action, found 'in_state'"):
        parse_call("in_state('x')", at)


def test_calls_know_their_column() -> None:
    guard = parse_guard("a and not bc", at)
    assert isinstance(guard, And)
    last = guard.operands[1]
    assert isinstance(last, Not)
    assert isinstance(last.operand, GuardCall)
    assert last.operand.position == Position("f", 1, 11)


names = st.from_regex(r"[a-zä_][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: name.isidentifier())
guard_names = names.filter(lambda name: name not in KEYWORDS and name not in ("is", "in", "if", "as"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
arguments: st.SearchStrategy[Argument] = st.builds(LiteralArgument, json_values) | st.builds(
    Reference, st.sampled_from(["event", "context"]), st.lists(names.filter(is_field), max_size=3).map(tuple)
)
calls = st.builds(
    GuardCall, guard_names, st.dictionaries(names, arguments, max_size=3).map(lambda given: tuple(given.items()))
)
guards = st.recursive(
    calls | st.builds(InState, st.text(st.characters(exclude_categories=["Cs"]))) | st.builds(Constant, st.booleans()),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(
            And, st.lists(inner.filter(lambda each: not isinstance(each, And)), min_size=2, max_size=3).map(tuple)
        )
        | st.builds(
            Or, st.lists(inner.filter(lambda each: not isinstance(each, Or)), min_size=2, max_size=3).map(tuple)
        )
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(guards)
def test_printing_and_reading_gives_the_same_guard(guard: Guard) -> None:
    assert parse_guard(format_guard(guard), at) == guard


@given(calls)
def test_printing_and_reading_gives_the_same_call(call: GuardCall) -> None:
    found = parse_call(format_call(call.name, call.arguments), at)
    assert (found.name, found.arguments) == (call.name, call.arguments)


@given(st.text(alphabet="ab_1.'\"()=, \\notrue[]{}:é\n-+<", max_size=40))
def test_any_text_is_a_guard_or_an_expression_error(text: str) -> None:
    try:
        parse_guard(text, at)
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)


WORDS = st.sampled_from(
    ["has", "agent", "event", "context", "true", "false", "null", "not", "and", "in_state", "class", "π", "(", ")", "=",
     ",", ".", "1", "-2", "0", "007", "3.5", "1e9", "'a'", '"b c"', "'d\\n'", " ", "  ", "\n", "[", "]", "{", "9" * 20]
)  # fmt: skip
CALLS = st.builds(
    lambda name, pairs, space: f"{name}({(',' + space).join(pairs)})",
    st.sampled_from(["has", "is_ready", "true", "in_state", "not"]),
    st.lists(
        st.builds("{}{}{}".format, st.sampled_from("abc"), st.sampled_from(["=", " = "]), WORDS), min_size=1, max_size=3
    ),
    st.sampled_from(["", " "]),
)  # fmt: skip


@given(st.one_of(CALLS, st.lists(WORDS, max_size=9).map("".join)))
def test_short_calls_are_what_the_parser_reads(text: str) -> None:
    """Most calls are read by a regular expression: it must give what the parser gives, or leave the text to it."""

    def read(parse: Any) -> Any:
        try:
            found = parse()
        except ExpressionError as error:
            return (error.message, error.offset, error.looks_like_code)
        return found, repr(found)  # with its position, and 1 is not true

    def whole(rule: str) -> Any:
        parser = _Parser(text, at)
        return parser.whole(getattr(parser, rule))

    assert read(lambda: parse_guard(text, at)) == read(lambda: whole("guard"))
    assert read(lambda: parse_call(text, at)) == read(lambda: whole("action"))
