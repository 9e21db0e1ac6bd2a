"""The reader: goes over a node tree by the grammar's tables and collects what is wrong instead of stopping.

How each type of value is read is in `values`, `behaviour`, `moves` and `states`; `types` joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias, TypeVar

from rawko.chart.definition import Position
from rawko.chart.errors import ChartDefinitionError, Diagnostic, a, hint, listed, shown
from rawko.chart.grammar import FOREIGN, Element, Key, Type
from rawko.chart.yaml_nodes import Document, MappingNode, Node, NotJsonError, ScalarNode, SequenceNode, scalar_value

MAX_DIAGNOSTICS = 100
"""Enough to repair a chart by; a hostile one costs no more than this many nearest spellings."""

T = TypeVar("T")
ValueReader: TypeAlias = "Callable[[Reader, Node], Any]"


class Unreadable(Exception):
    """A value was reported as wrong; whoever reads its surroundings leaves it out."""


class Reader:
    """State of one reading.

    Attributes:
        is_trusted: Strings in the place of guards and actions are Python code, as sismic has them.
        is_partial: A state had to be left out, so what refers to it cannot be judged.
        diagnostics: What was found so far.
    """

    def __init__(self, document: Document, types: Mapping[Type, ValueReader], *, is_trusted: bool) -> None:
        self.document = document
        self.is_trusted = is_trusted
        self.is_partial = False
        self.diagnostics: list[Diagnostic] = list(document.diagnostics)
        self._types = types

    # ------------------------------------------------------------ places and defects

    def position(self, node: Node) -> Position:
        return Position(self.document.file, node.line, node.column)

    def locate(self, node: ScalarNode) -> Callable[[int], Position]:
        """From an offset in a scalar's text to its place in the source.

        Exact for plain, quoted (without escapes) and literal scalars on their own lines; the start of the
        scalar for the rest (folded text, escapes), where offsets and columns part.
        """

        def place(offset: int) -> Position:
            shift = node.style in ("'", '"')
            if offset == 0 and node.style not in ("|", ">"):
                return Position(self.document.file, node.line, node.column + shift)
            line, start = node.line, node.column - 1 + shift
            text = node.text
            if node.style == "|":
                row = text.count("\n", 0, offset)
                offset -= text.rfind("\n", 0, offset) + 1
                text = text.split("\n")[row]
                line = node.line + 1 + row
                start = max(self.document.line(line).find(text), 0) if text else 0
            if not self.document.line(line).startswith(text, start):
                return self.position(node)
            return Position(self.document.file, line, start + offset + 1)

        return place

    def report(self, code: str, where: Node | Position, message: str) -> None:
        position = where if isinstance(where, Position) else self.position(where)
        self.diagnostics.append(Diagnostic(position, code, message))
        if len(self.diagnostics) >= MAX_DIAGNOSTICS:
            raise ChartDefinitionError(sorted(self.diagnostics))

    def fail(self, code: str, where: Node | Position, message: str) -> NoReturn:
        self.report(code, where, message)
        raise Unreadable

    def wrong_type(self, node: Node, wanted: str) -> NoReturn:
        self.fail("wrong-type", node, f"expected {wanted}, found {described(node)}")

    # ------------------------------------------------------------ nodes

    def sequence(self, node: Node, wanted: str) -> list[Node]:
        if not isinstance(node, SequenceNode):
            self.wrong_type(node, wanted)
        return node.items

    def mapping(self, node: Node, wanted: str) -> MappingNode:
        if not isinstance(node, MappingNode):
            self.wrong_type(node, wanted)
        return node

    def scalar(self, node: Node, wanted: str) -> ScalarNode:
        if not isinstance(node, ScalarNode):
            self.wrong_type(node, wanted)
        return node

    def value(self, node: ScalarNode) -> Any:
        """JSON value of a scalar."""
        try:
            return scalar_value(node)
        except NotJsonError as error:
            self.fail("not-json", node, str(error))

    def each(self, nodes: list[Node], read: Callable[[Node], T]) -> list[T]:
        """What can be read of a list."""
        found: list[T] = []
        for node in nodes:
            try:
                found.append(read(node))
            except Unreadable:
                continue
        return found

    def element(self, node: MappingNode, element: Element) -> dict[str, Any]:
        """Values of an element by key, in the order written; unreadable ones are reported and left out."""
        values: dict[str, Any] = {}
        for name, (key, value) in node.entries.items():
            row = element.keys.get(name)
            if row is None:
                self._unknown_key(key, element)
                continue
            try:
                values[name] = self._types[row.type](self, value)
            except Unreadable:
                continue
        self._check_required(node, element)
        return values

    def _check_required(self, node: MappingNode, element: Element) -> None:
        for row in element.required:
            if row.name not in node.entries:
                self.report("missing-key", node, _missing(row, element))
        if element.is_choice and len(node.entries) != 1:
            found = f"{len(node.entries)} keys: {listed(node.entries)}" if node.entries else "none"
            message = f"one {element.name} has exactly one key, found {found}; write a list with one key per item"
            self.report("conflicting-keys", node, message)

    def _unknown_key(self, key: ScalarNode, element: Element) -> None:
        name = key.text
        foreign = FOREIGN.get(name)
        if foreign in element.keys:
            end = f"; did you mean {foreign!r}? accepted: {listed(element.keys)}"
        else:
            end = hint(name, element.keys, "accepted")
        self.report("unknown-key", key, f"{shown(name)} is no key of {a(element.name)}{end}")


def _missing(row: Key, element: Element) -> str:
    return f"{a(element.name)} needs the key {row.name!r}, for example '{row.name}: {row.example}'"


def described(node: Node) -> str:
    """A node for a message: "a list", "the number 5", "the text 'x'"."""
    if isinstance(node, SequenceNode):
        return "a list"
    if isinstance(node, MappingNode):
        return f"a mapping with {listed(node.entries)}" if node.entries else "an empty mapping"
    try:
        value = scalar_value(node)
    except NotJsonError:
        return shown(node.text)
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {shown(node.text)[1:-1]}"
    return f"the text {shown(value)}"
