"""Charts as pictures and as text for people. Nothing here runs a chart or changes one."""

from __future__ import annotations

from rawko.render.draw import DEFAULT, FORMATS, Options, draw
from rawko.render.errors import (
    LayoutError,
    PngUnavailableError,
    RenderError,
    TangledError,
    TooLargeError,
    UnknownFormatError,
    UnknownStateError,
)
from rawko.render.formats.mermaid import to_mermaid

__all__ = [
    "DEFAULT",
    "FORMATS",
    "LayoutError",
    "Options",
    "PngUnavailableError",
    "RenderError",
    "TangledError",
    "TooLargeError",
    "UnknownFormatError",
    "UnknownStateError",
    "draw",
    "to_mermaid",
]
