"""Converts SVG to PNG with resvg (the extra `rawko[png]`): no browser, no system library, but a font is needed."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from rawko.render.errors import PngUnavailableError

FAMILIES = (
    "DejaVu Sans",
    "Verdana",
    "Bitstream Vera Sans",
    "Noto Sans",
    "Open Sans",
    "Segoe UI",
    "Helvetica Neue",
    "Arial",
    "Liberation Sans",
    "Ubuntu",
    "Cantarell",
    "Roboto",
    "FreeSans",
)
MAX_PIXELS = 48_000_000
OTHER_SCRIPTS = 0x2E80
"""Code points from here on, first of all CJK, are missing in the usual fonts."""

_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><text x="2" y="15">{}</text></svg>'


def to_png(svg: str, *, size: tuple[float, float], zoom: float = 2.0) -> bytes:
    """The PNG of an SVG whose colours are written out (no CSS variables).

    Args:
        size: Width and height of the SVG, in pixels.
        zoom: PNG pixels per SVG pixel; reduced if the picture would be larger than `MAX_PIXELS`.

    Raises:
        PngUnavailableError: The library is not installed, or the machine has no usable font.
    """
    resvg = _library()
    width, height = size
    fits = min(zoom, (MAX_PIXELS / max(width * height, 1.0)) ** 0.5)
    family = _family()
    return bytes(resvg.svg_to_bytes(svg_string=svg, width=max(round(width * fits), 1), sans_serif_family=family))


def undrawable(text: str) -> str:
    """Characters of other scripts that no font of this machine can draw, each once, at most 20.

    Raises:
        PngUnavailableError: As `to_png`.
    """
    others = dict.fromkeys(char for char in text if ord(char) >= OTHER_SCRIPTS and char != "\ufffd")
    if not others:
        return ""
    resvg, family = _library(), _family()

    def picture(char: str) -> bytes:
        probe = _PROBE.format(char)
        return bytes(resvg.svg_to_bytes(svg_string=probe, font_family=family, sans_serif_family=family))

    # resvg draws nothing for a character without a glyph, or the font's empty frame, as for a private-use character.
    nothing = {picture(""), picture("\U000f0000")}
    return "".join([char for char in others if picture(char) in nothing][:20])


def _library() -> Any:
    try:
        return import_module("resvg_py")
    except ImportError as error:
        raise PngUnavailableError("PNG needs the extra: pip install 'rawko[png]'; .svg needs nothing") from error


@lru_cache(maxsize=1)
def _family() -> str:
    """A font of this machine. Without a font resvg omits all texts and reports no error."""
    resvg = _library()
    empty = bytes(resvg.svg_to_bytes(svg_string=_PROBE.format("")))
    for family in FAMILIES:
        drawn = resvg.svg_to_bytes(svg_string=_PROBE.format("abc"), font_family=family, sans_serif_family=family)
        if bytes(drawn) != empty:
            return family
    raise PngUnavailableError(
        "PNG needs a font, and none of the usual ones is installed (for example the package fonts-dejavu-core); "
        ".svg needs none"
    )
