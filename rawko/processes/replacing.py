"""A text file that is replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from codecs import BOM_UTF8
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Put another text into a file, whose mode stays, and its byte order mark. Of a link the file that it leads to is
    replaced.

    Raises:
        OSError: The file is not there, or cannot be written; it is as it was.
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
