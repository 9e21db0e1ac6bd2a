"""Reads JSON text (RFC 8259) into the node tree of charts, so that imported elements have line and column too.

The YAML reader cannot be used: JSON's escapes (`\\/`, surrogate pairs) and tabs are not valid YAML.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import NoReturn

from rawko.chart.definition import Position
from rawko.chart.errors import ChartSyntaxError, Diagnostic, shown
from rawko.chart.source.composer import MAX_CHARS, MAX_DEPTH, MAX_NODES
from rawko.chart.source.nodes import Document, MappingNode, Node, ScalarNode, SequenceNode

_SPACE = re.compile(r"[ \t\n\r]*")
_CONSTANT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_DECODER = json.JSONDecoder()
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str, file: str) -> Document:
    """The node tree of a JSON text. A duplicate key becomes a diagnostic in the document.

    Raises:
        ChartSyntaxError: The text is not JSON, or exceeds the limits of a chart.
    """
    return _JsonReader(text.removeprefix("\ufeff"), file).document()


class _JsonReader:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._depth = 0
        self._nodes = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._found: list[Diagnostic] = []

    def document(self) -> Document:
        if len(self._text) > MAX_CHARS:
            self._fail("too-large", f"the text has more than {MAX_CHARS} characters")
        root = self._value()
        self._skip()
        if self._at < len(self._text):
            self._fail("json-syntax", f"expected the end, found {self._seen}")
        return Document(root, self._text, self._file, self._found)

    # ------------------------------------------------------------ values

    def _value(self) -> Node:
        self._skip()
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._fail("too-large", f"more than {MAX_NODES} values")
        mark = self._text[self._at : self._at + 1]
        if mark == "{":
            return self._nested(self._mapping())
        if mark == "[":
            return self._nested(self._sequence())
        return self._string("a value") if mark == '"' else self._constant()

    def _nested(self, node: Node) -> Node:
        self._depth -= 1
        return node

    def _open(self) -> tuple[int, int]:
        place = self._place(self._at)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail("too-deep", f"nested deeper than {MAX_DEPTH} levels")
        self._at += 1
        return place

    def _mapping(self) -> MappingNode:
        node = MappingNode({}, *self._open())
        while not self._closes("}", is_first=not node.entries):
            self._skip()
            key = self._string("a key in double quotes")
            self._expect(":")
            value = self._value()
            if key.text in node.entries:
                place = Position(self._file, key.line, key.column)
                self._found.append(Diagnostic(place, "duplicate-key", f"key {shown(key.text)} occurs twice"))
            node.entries[key.text] = (key, value)
        return node

    def _sequence(self) -> SequenceNode:
        node = SequenceNode([], *self._open())
        while not self._closes("]", is_first=not node.items):
            node.items.append(self._value())
        return node

    def _closes(self, mark: str, *, is_first: bool) -> bool:
        """Whether the list or mapping ends here; if not, the comma before the next item is consumed."""
        self._skip()
        if self._text.startswith(mark, self._at):
            self._at += 1
            return True
        if not is_first:
            self._expect(",", or_else=mark)
        return False

    def _string(self, wanted: str) -> ScalarNode:
        start = self._at
        if not self._text.startswith('"', start):
            self._fail("json-syntax", f"expected {wanted}, found {self._seen}")
        try:
            text, self._at = _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            self._at = error.pos
            self._fail("json-syntax", f"{error.msg[:1].lower()}{error.msg[1:]}")
        if _SURROGATE.search(text):
            self._at = start
            self._fail("json-syntax", "half of a surrogate pair is no character")
        return ScalarNode(text, '"', None, *self._place(start))

    def _constant(self) -> ScalarNode:
        found = _CONSTANT.match(self._text, self._at)
        if found is None:
            self._fail("json-syntax", f"expected a value, found {self._seen}")
        place = self._place(self._at)
        self._at = found.end()
        return ScalarNode(found.group(), None, None, *place)

    # ------------------------------------------------------------ the text

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _expect(self, mark: str, or_else: str = "") -> None:
        self._skip()
        if not self._text.startswith(mark, self._at):
            wanted = f"{mark!r} or {or_else!r}" if or_else else repr(mark)
            self._fail("json-syntax", f"expected {wanted}, found {self._seen}")
        self._at += 1

    @property
    def _seen(self) -> str:
        return shown(self._text[self._at]) if self._at < len(self._text) else "the end"

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _fail(self, code: str, message: str) -> NoReturn:
        raise ChartSyntaxError([Diagnostic(Position(self._file, *self._place(self._at)), code, message)])
