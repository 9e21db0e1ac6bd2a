"""Namespace and compiled code of SCXML's Python data model; `scxml_data_model` builds on it."""

from __future__ import annotations

import ast
from functools import lru_cache
from types import CodeType
from typing import Any

from rawko.interpreter.foreign.scxml_values import DataModelError

SYSTEM = ("_event", "_sessionid", "_name", "_ioprocessors")


class Names(dict[str, Any]):
    """Variables and built-in functions ("words") of one machine: the globals of its code. System variables are
    read-only.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words: set[str] = set()

    def provide(self, name: str, value: Any) -> None:
        """Add a word of the data model; it becomes a variable only if code assigns it."""
        super().__setitem__(name, value)
        self.words.add(name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name in SYSTEM:
            raise DataModelError(f"{name} cannot be assigned: system variables are read-only")
        self.words.discard(name)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        if name in self.words:
            raise DataModelError(f"{name} cannot be deleted")
        super().__delitem__(name)

    def variables(self) -> dict[str, Any]:
        """The variables that the chart's own code and data have assigned."""
        return {name: value for name, value in self.items() if name not in self.words and name != "__builtins__"}


@lru_cache(maxsize=4096)
def compiled(code: str, mode: str) -> CodeType:
    """The code object of an expression or of statements, cached."""
    if mode == "eval":  # in parentheses, an expression may span several lines
        ast.parse(code.strip().replace("\n", " ") if "#" not in code else code.strip(), mode="eval")
        code = f"({code.strip()}\n)"
    return compile(code, "<chart>", mode)


@lru_cache(maxsize=4096)
def place_of(location: str) -> ast.expr:
    """The parsed expression of a location.

    Raises:
        DataModelError: It is not a location.
    """
    try:
        place = ast.parse(location.strip(), mode="eval").body
    except SyntaxError:
        raise DataModelError(f"{location!r} is no location") from None
    if not isinstance(place, (ast.Name, ast.Attribute, ast.Subscript)):
        raise DataModelError(f"{location!r} is no location")
    return place


def root_of(place: ast.expr) -> str:
    """The variable that contains a location."""
    while isinstance(place, (ast.Attribute, ast.Subscript)):
        place = place.value
    if not isinstance(place, ast.Name):
        raise DataModelError("a location begins with the name of a variable")
    return place.id


@lru_cache(maxsize=4096)
def assignment(location: str) -> CodeType:
    """The code that gives a location `_value`."""
    return compile(f"{location.strip()} = _value", "<location>", "exec")


def assigned(statement: ast.stmt) -> str | None:
    """The variable that a statement of the preamble assigns; None for other statements."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None
