"""The state of an XState import: the document, its defects and losses, and the names assigned so far."""

from __future__ import annotations

from collections import defaultdict
from typing import NoReturn

from rawko.chart.definition import Json, Position
from rawko.chart.errors import hint, shown
from rawko.chart.formats.exchange import Losses
from rawko.chart.formats.names import Identifiers, is_bindable
from rawko.chart.reading.reader import Reader
from rawko.chart.reading.types import READERS
from rawko.chart.source.nodes import Document, MappingNode, Node, ScalarNode, SequenceNode
from rawko.chart.source.scalars import NotJsonError, to_json

VERSION_4 = {
    "cond": "guard",
    "in": "guard: {type: stateIn, ...}",
    "internal": "reenter",
    "activities": "invoke",
    "data": "output or input",
    "services": "actors",
}
"""Keys of XState 4, and their replacement in version 5: ignoring them would change the machine's behaviour."""

SILENT = frozenset(("types", "schemas", "options", "tsTypes", "$schema", "order", "predictableActionArguments"))
"""Keys that do not affect the machine's behaviour."""


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
        """Report keys that are not read: those of XState 4 as errors, others as losses."""
        for name, (key, _) in node.entries.items():
            if name in VERSION_4 and name not in known:
                message = f"{shown(name)} is XState 4's; version 5 has {VERSION_4[name]}. Migrate the machine first"
                self.reader.report("unknown-key", key, message)
            elif name not in known and name not in SILENT:
                self.lost(key, f"key {shown(name)} of {element} is not read{hint(name, sorted(known), 'read')}")

    def value(self, node: MappingNode, key: str) -> Node | None:
        """The value of a key; None if it is absent or null."""
        found = node.entries.get(key)
        if found is None or (isinstance(found[1], ScalarNode) and found[1].is_plain and found[1].text == "null"):
            return None
        return found[1]

    def text(self, node: Node, wanted: str) -> str:
        if not isinstance(node, ScalarNode) or node.is_plain:
            self.reader.wrong_type(node, wanted)
        return node.text

    def items(self, node: Node | None) -> list[Node]:
        """The items of a list, or a single one: XState accepts both in many places."""
        if node is None:
            return []
        return list(node.items) if isinstance(node, SequenceNode) else [node]

    def json(self, node: Node) -> Json:
        """The JSON value of a node.

        Raises:
            Unreadable: It contains a number that JSON cannot express; reported.
        """
        try:
            return to_json(node)
        except NotJsonError as error:
            self.fail("not-json", node, str(error))

    # ------------------------------------------------------------ names

    def identifier(self, kind: str, name: str, node: Node) -> str:
        """The name of a guard, action or delay as an identifier; a changed name is reported as a loss."""
        found = self._identifiers[kind].of(name)
        if found != name or not is_bindable(name):
            self.lost(node, f"{kind} {shown(name)} is called {found!r} here: bound names are identifiers")
        return found
