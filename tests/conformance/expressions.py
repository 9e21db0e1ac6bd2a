"""The few expressions that SCION's cases use, evaluated without a JavaScript engine.

Literals, names, `+ - *`, comparisons, `&& || !`, member access, calls of `In`, `Math.pow` and `JSON.stringify`,
array and object literals. What goes beyond that is `Unsupported`: the case is then reported, not guessed at.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any


class Unsupported(Exception):
    """The text needs a real JavaScript engine."""


class Undefined(Exception):
    """A name that is not defined: JavaScript's ReferenceError."""


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<mark>===|!==|==|!=|<=|>=|&&|\|\||[-+*/%<>!().,\[\]{}:])
    )""",
    re.VERBOSE,
)
_WORDS = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
_MARKS = {"===": "==", "!==": "!=", "&&": " and ", "||": " or ", "!": " not "}


def _python(text: str) -> str:
    """JavaScript's spelling as Python's."""
    parts: list[str] = []
    position, text = 0, text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise Unsupported(text)
        position = found.end()
        word, mark = found["word"], found["mark"]
        if word is not None and text[position:].lstrip()[:1] == ":":
            parts.append(repr(word))  # a key of an object literal
        elif word is not None:
            parts.append(f" {_WORDS.get(word, word.replace('$', '_dollar_'))} ")
        else:
            parts.append(_MARKS.get(mark, mark) if mark is not None else found[0].strip())
    return "".join(parts).strip()


_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        return f"{_text(left)}{_text(right)}"
    return left + right


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


_FUNCTIONS: dict[str, Callable[..., Any]] = {"Math.pow": pow, "JSON.stringify": _text}


class Expression:
    """One expression, parsed once.

    Raises:
        Unsupported, SyntaxError: At construction.
        Undefined, TypeError: At evaluation, as a JavaScript engine would throw.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = ast.parse(_python(text), mode="eval").body

    def __call__(self, names: Mapping[str, Any]) -> Any:
        return self._value(self._tree, names)

    def _value(self, tree: ast.expr, names: Mapping[str, Any]) -> Any:
        match tree:
            case ast.Constant(value):
                return value
            case ast.Name(id):
                if id not in names:
                    raise Undefined(f"{id} is not defined")
                return names[id]
            case ast.BoolOp(op, values):
                for operand in values[:-1]:
                    found = self._value(operand, names)
                    if bool(found) is isinstance(op, ast.Or):
                        return found
                return self._value(values[-1], names)
            case ast.UnaryOp(ast.Not(), operand):
                return not self._value(operand, names)
            case ast.UnaryOp(ast.USub(), operand):
                return -self._value(operand, names)
            case ast.BinOp(left, ast.Add(), right):
                return _add(self._value(left, names), self._value(right, names))
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                return _BINARY[type(op)](self._value(left, names), self._value(right, names))
            case ast.Compare(left, [op], [right]) if type(op) in _BINARY:
                return _BINARY[type(op)](self._value(left, names), self._value(right, names))
            case ast.List(items):
                return [self._value(item, names) for item in items]
            case ast.Dict(keys, values):
                return {self._value(k, names): self._value(v, names) for k, v in zip(keys, values, strict=True) if k}
            case ast.Attribute(value, name):
                return _member(self._value(value, names), name)
            case ast.Call(function, arguments):
                return self._call(ast.unparse(function), [self._value(a, names) for a in arguments], names)
            case _:
                raise Unsupported(self.text)

    def _call(self, name: str, arguments: list[Any], names: Mapping[str, Any]) -> Any:
        function = _FUNCTIONS.get(name) or names.get(name)
        if function is None:
            raise Undefined(f"{name} is not defined")
        return function(*arguments)


def _member(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    raise TypeError(f"cannot read {name!r} of {value!r}")


_ASSIGNMENT = re.compile(r"^\s*([A-Za-z_$][\w$]*)\s*(=(?!=)|\+=|-=|\*=)\s*(.+)$", re.DOTALL)
_FUNCTION = re.compile(r"function\s+(\w+)\s*\(\s*\)\s*\{([^{}]*)\}")
_CALL = re.compile(r"^\s*(\w+)\s*\(\s*\)\s*$")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)

Assignment = tuple[str, Expression]


class Scripts:
    """Scripts of assignments, and functions without parameters that hold such."""

    def __init__(self) -> None:
        self._functions: dict[str, list[Assignment]] = {}

    def define(self, text: str) -> None:
        """Take in the functions of a global script.

        Raises:
            Unsupported: It does anything else.
        """
        text = _COMMENT.sub("", text)
        for name, body in _FUNCTION.findall(text):
            self._functions[name] = self.assignments(body)
        if _FUNCTION.sub("", text).strip():
            raise Unsupported(text)

    def assignments(self, text: str) -> list[Assignment]:
        """A script as (name, value) pairs in order.

        Raises:
            Unsupported: It does anything else.
        """
        found: list[Assignment] = []
        for statement in _COMMENT.sub("", text).split(";"):
            if not statement.strip():
                continue
            if called := _CALL.match(statement):
                if called[1] not in self._functions:
                    raise Unsupported(statement)
                found += self._functions[called[1]]
            elif assigned := _ASSIGNMENT.match(statement):
                name, sign, value = assigned.groups()
                found.append((name, Expression(value if sign == "=" else f"{name} {sign[0]} ({value})")))
            else:
                raise Unsupported(statement)
        return found
