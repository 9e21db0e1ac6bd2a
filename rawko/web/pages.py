"""The files of the pages: HTML, modules and styles of the package, with all modules joined to one script.

Modules are joined in the order of their imports, without `import` lines and `export` words, so their names must be
unique (a test checks this). A browser then loads three files.
"""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from importlib.resources import files
from typing import Final

TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
SCRIPT, STYLE = "all.js", "all.css"
"""Names of the joined files."""
_ROOT: Final = "main.js"
_STYLES: Final = ("style.css", "screens.css")
_IMPORT: Final = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_FROM: Final = re.compile(r'from "\./([\w-]+\.js)"')
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const|let))", re.MULTILINE)
_FOLDER: Final = files("rawko.web") / "pages"


@lru_cache(maxsize=1)
def page_files() -> dict[str, bytes]:
    """The contents of all files by name."""
    return {entry.name: entry.read_bytes() for entry in _FOLDER.iterdir() if _ending(entry.name) in TYPES}


@lru_cache(maxsize=1)
def joined_script() -> str:
    """All modules as one script."""
    files = {name: content.decode("utf-8") for name, content in page_files().items()}
    done: dict[str, str] = {}

    def take(name: str, above: tuple[str, ...]) -> None:
        if name in done or name in above:
            return
        for needed in dict.fromkeys(_FROM.findall(files[name])):
            take(needed, (*above, name))
        done[name] = _EXPORT.sub("", _IMPORT.sub("", files[name]))

    take(_ROOT, ())
    return "".join(done.values()).replace("</script", "<\\/script")


@lru_cache(maxsize=1)
def joined_style() -> str:
    """All styles joined."""
    return "".join(page_files()[name].decode("utf-8") for name in _STYLES)


@lru_cache(maxsize=64)
def packed(name: str) -> bytes | None:
    """A file of the pages compressed by gzip; None where there is no such file."""
    made = {SCRIPT: joined_script, STYLE: joined_style}.get(name)
    content = page_files().get(name) if made is None else made().encode()
    return None if content is None else gzip.compress(content, 9, mtime=0)


def type_of(name: str) -> str:
    """The media type of a file of the pages."""
    return TYPES[_ending(name)]


def _ending(name: str) -> str:
    return "." + name.rpartition(".")[2]
