"""What an import of XState JSON works on: the document, its findings and losses, and the names given so far."""

from __future__ import annotations

from collections import defaultdict
from typing import NoReturn

from rawko.chart.definition import Json, Position
from rawko.chart.errors import hint, shown
from rawko.chart.formats.exchange import Losses
from rawko.chart.formats.names import Identifiers, is_bindable
from rawko.chart.reading.reader import Reader
from rawko.chart.reading.types import READERS
from rawko.chart.yaml_nodes import Document, MappingNode, Node, NotJsonError, ScalarNode, SequenceNode, to_json

VERSION_4 = {
    "cond": "guard",
    "in": "guard: {type: stateIn, ...}",
    "internal": "reenter",
    "activities": "invoke",
    "data": "output or input",
    "services": "actors",
}
"""Keys of XState 4, and what version 5 has instead: reading past them would change the machine."""

SILENT = frozenset(("types", "schemas", "options", "tsTypes", "$schema", "order", "predictableActionArguments"))
"""Keys that say nothing about what the machine does."""


class Source:
    """One JSON document being imported."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.reader = Reader(document, READERS, is_trusted=False)
        self.losses = Losses()
        self._identifiers: dict[str, Identifiers] = defaultdict(Identifiers)

    # ------------------------------------------------------------ findings

    def position(self, node: Node) -> Position:
        return self.reader.position(node)

    def lost(self, node: Node, message: str) -> None:
        self.losses.add(self.position(node), message)

    def fail(self, code: str, node: Node, message: str) -> NoReturn:
        self.reader.fail(code, node, message)

    # ------------------------------------------------------------ values

    def keys(self, node: MappingNode, element: str, known: frozenset[str]) -> None:
        """Tell keys that are not read: errors for those of XState 4, losses for the rest."""
        for name, (key, _) in node.entries.items():
            if name in VERSION_4 and name not in known:
                message = f"{shown(name)} is XState 4's; version 5 has {VERSION_4[name]}. Migrate the machine first"
                self.reader.report("unknown-key", key, message)
            elif name not in known and name not in SILENT:
                self.lost(key, f"key {shown(name)} of {element} is not read{hint(name, sorted(known), 'read')}")

    def value(self, node: MappingNode, key: str) -> Node | None:
        """The value of a key; None where it is absent or null."""
        found = node.entries.get(key)
        if found is None or (isinstance(found[1], ScalarNode) and found[1].is_plain and found[1].text == "null"):
            return None
        return found[1]

    def text(self, node: Node, wanted: str) -> str:
        if not isinstance(node, ScalarNode) or node.is_plain:
            self.reader.wrong_type(node, wanted)
        return node.text

    def items(self, node: Node | None) -> list[Node]:
        """One or a list of them, as XState takes it in many places."""
        if node is None:
            return []
        return list(node.items) if isinstance(node, SequenceNode) else [node]

    def json(self, node: Node) -> Json:
        """The JSON value of a node.

        Raises:
            Unreadable: Some number in it is beyond JSON's; told.
        """
        try:
            return to_json(node)
        except NotJsonError as error:
            self.fail("not-json", node, str(error))

    # ------------------------------------------------------------ names

    def identifier(self, kind: str, name: str, node: Node) -> str:
        """A name of a guard, action or delay as an identifier; a change is told."""
        found = self._identifiers[kind].of(name)
        if found != name or not is_bindable(name):
            self.lost(node, f"{kind} {shown(name)} is called {found!r} here: bound names are identifiers")
        return found
