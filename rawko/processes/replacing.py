"""Replaces a text file atomically."""

from __future__ import annotations

import os
import tempfile
from codecs import BOM_UTF8
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Replace the content of a file; its mode and its byte order mark are kept. For a link, the target is replaced.

    Raises:
        OSError: The file does not exist or cannot be written; it is unchanged.
    """
    path = path.resolve(strict=True)
    mode = path.stat().st_mode & 0o777
    with path.open("rb") as before:
        has_mark = before.read(len(BOM_UTF8)) == BOM_UTF8
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(("\ufeff" if has_mark else "") + text)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
