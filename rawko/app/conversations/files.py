"""Finds files of a workspace that a task can name, as the tool `glob` lists them: without git-ignored files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rawko.tools.base import ToolFailure
from rawko.tools.files.paths import Folder
from rawko.tools.files.search import Request, search
from rawko.tools.text import shown_name

MAX_FILES: Final = 20_000
_MAX_CHARS: Final = 4_000_000
_TIMEOUT_MS: Final = 5_000


async def files_of(workspace: Path) -> tuple[str, ...]:
    """Paths in order, in the form in which tools show them; () where the folder cannot be searched in time."""
    request = Request(path=".", max_items=MAX_FILES, max_chars=_MAX_CHARS)
    try:
        found = await search(Folder(workspace), request, timeout_ms=_TIMEOUT_MS)
    except (ToolFailure, OSError, RuntimeError):
        return ()
    return tuple(shown_name(path) for path in found.items)


def matching(files: Sequence[str], typed: str, limit: int) -> tuple[str, ...]:
    """The files whose path contains what was typed: by name prefix first, then by path prefix, then the others.

    >>> matching(("docs/run.md", "rawko/run.py", "run.sh", "tests/test_run.py"), "run", 9)
    ('docs/run.md', 'rawko/run.py', 'run.sh', 'tests/test_run.py')
    >>> matching(("src/a.py", "lib/src.py", "x/libsrc.py"), "src", 2)
    ('lib/src.py', 'src/a.py')
    """
    wanted = typed.lower()
    ranked = sorted(_ranked(files, wanted), key=lambda one: one[0])
    return tuple(path for _, path in ranked[:limit])


def _ranked(files: Sequence[str], wanted: str) -> Iterator[tuple[int, str]]:
    for path in files:
        folded = path.lower()
        if wanted not in folded:
            continue
        is_name = folded.rpartition("/")[2].startswith(wanted)
        yield (0 if is_name else 1 if folded.startswith(wanted) else 2), path
