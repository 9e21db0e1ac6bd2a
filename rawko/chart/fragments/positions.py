"""A reader of charts whose states come from several files: each defect stands in the file that was written wrong."""

from __future__ import annotations

from collections.abc import Callable

from rawko.chart.definition import Position
from rawko.chart.reading.reader import Reader
from rawko.chart.source.nodes import Node, ScalarNode


class ExpandedReader(Reader):
    """Knows the file of each node that was copied from a fragment."""

    def position(self, node: Node) -> Position:
        return Position(self.document.files.get(id(node), self.document.file), node.line, node.column)

    def locate(self, node: ScalarNode) -> Callable[[int], Position]:
        """As of any reader; in a fragment, whose lines are not at hand, the start of the scalar."""
        if id(node) in self.document.files:
            return lambda offset: self.position(node)
        return super().locate(node)
