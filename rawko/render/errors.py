"""Errors of drawing a chart.

RenderError
├── UnknownStateError    the chart has no state of the name to focus on
├── UnknownFormatError   the file's suffix names no format
├── TooLargeError        the diagram is too large to be read or laid out; the error names a depth that fits
├── LayoutError          the layout engine refused the graph
└── PngUnavailableError  the optional library or a font is missing
"""

from __future__ import annotations


class RenderError(Exception):
    """A chart could not be drawn."""


class UnknownStateError(RenderError):
    """The chart has no state of that name.

    Attributes:
        state: The requested name.
        near: Similar names of existing states.
    """

    def __init__(self, state: str, near: tuple[str, ...] = ()) -> None:
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        super().__init__(f"the chart has no state {state!r}{hint}")
        self.state, self.near = state, near


class UnknownFormatError(RenderError):
    """No format has this suffix.

    Attributes:
        suffix: The unknown suffix, such as `.gif`.
        known: The accepted suffixes.
    """

    def __init__(self, suffix: str, known: tuple[str, ...]) -> None:
        super().__init__(f"format {suffix!r} is not known; accepted: {', '.join(known)}")
        self.suffix, self.known = suffix, known


class TooLargeError(RenderError):
    """The diagram has more parts than the layout engine can place.

    Attributes:
        states: Number of states that would be drawn.
        depth: A depth that is small enough, or None if there is none.
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
    """The lines of a graph cross too many ranks to be laid out."""


class PngUnavailableError(RenderError):
    """PNG needs the optional library resvg-py and a font."""
