"""A reader for charts whose states come from several files: each defect gets the file that contains it."""

from __future__ import annotations

from collections.abc import Callable

from rawko.chart.definition import Position
from rawko.chart.reading.reader import Reader
from rawko.chart.source.nodes import Node, ScalarNode


class ExpandedReader(Reader):
    """A reader that knows the file of each node copied from a fragment."""

    def position(self, node: Node) -> Position:
        return Position(self.document.files.get(id(node), self.document.file), node.line, node.column)

    def locate(self, node: ScalarNode) -> Callable[[int], Position]:
        """As in `Reader`; in a fragment, whose text is not available, always the start of the scalar."""
        if id(node) in self.document.files:
            return lambda offset: self.position(node)
        return super().locate(node)
