"""What can go wrong when a chart is drawn.

RenderError
├── UnknownStateError    there is no state to focus on
├── UnknownFormatError   the file's ending names no format
├── TooLargeError        the diagram is too large to be read or laid out; asks for a depth
├── LayoutError          the layout engine refused the graph
└── PngUnavailableError  the optional library or a font is missing
"""

from __future__ import annotations


class RenderError(Exception):
    """A chart could not be drawn."""


class UnknownStateError(RenderError):
    """There is no state of that name.

    Attributes:
        state: The name asked for.
        near: Names that are spelled nearly so.
    """

    def __init__(self, state: str, near: tuple[str, ...] = ()) -> None:
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        super().__init__(f"the chart has no state {state!r}{hint}")
        self.state, self.near = state, near


class UnknownFormatError(RenderError):
    """No writer is known for an ending.

    Attributes:
        suffix: What was found, `.gif`.
        known: What is accepted.
    """

    def __init__(self, suffix: str, known: tuple[str, ...]) -> None:
        super().__init__(f"format {suffix!r} is not known; accepted: {', '.join(known)}")
        self.suffix, self.known = suffix, known


class TooLargeError(RenderError):
    """The diagram has more parts or longer lines than are laid out.

    Attributes:
        states: States that would be drawn.
        depth: A depth that is small enough, or None if not even 1 is.
    """

    def __init__(self, states: int, why: str, depth: int | None) -> None:
        way = f"--depth {depth} draws it down to that level" if depth else "no --depth makes it small enough"
        super().__init__(
            f"a drawing of {states} states {why}; {way}, and --focus STATE draws one state with its neighbours "
            "(.mmd, .md, .dot and .puml have no limit)"
        )
        self.states, self.depth = states, depth


class LayoutError(RenderError):
    """The layout engine refused a graph."""


class TangledError(LayoutError):
    """The lines of a graph pass too many others to be laid out."""


class PngUnavailableError(RenderError):
    """PNG needs the optional library resvg-py and a font."""
