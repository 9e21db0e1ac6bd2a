"""The files of the pages: HTML, modules and styles, as the package holds them."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final

TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOLDER: Final = files("rawko.web") / "pages"


@lru_cache(maxsize=1)
def page_files() -> dict[str, bytes]:
    """All files by their names."""
    return {entry.name: entry.read_bytes() for entry in _FOLDER.iterdir() if _ending(entry.name) in TYPES}


def type_of(name: str) -> str:
    """The media type of a file of the pages."""
    return TYPES[_ending(name)]


def _ending(name: str) -> str:
    return "." + name.rpartition(".")[2]
