"""`rawko report RUN -o run.html`: writes a run as an offline page."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from uuid import uuid4

from rawko.cli.output import complain, visible_line
from rawko.cli.settings import settings_for_reading
from rawko.config import ConfigError
from rawko.named_files import why_unwritable


def report_command(run: str, output: Path) -> int:
    """Write the page; an existing file is replaced completely or not changed."""
    from rawko.web.report import report_page

    try:
        if (problem := why_unwritable(output)) is not None:
            raise ConfigError(problem)
        page = asyncio.run(report_page(run, settings_for_reading()))
        _write(output, page)
    except ConfigError as error:
        return complain(str(error))
    print(visible_line(f"{output}: {len(page.encode()) / 1000:,.0f} kB, read only, needs no server"))
    return 0


def _write(output: Path, page: str) -> None:
    """Write a report readable only by its owner, since it has all data of the run."""
    hidden = output.with_name(f".{output.name}.{uuid4().hex[:8]}")
    try:
        with os.fdopen(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(page)
        hidden.replace(output)
    except OSError as error:
        hidden.unlink(missing_ok=True)
        raise ConfigError(f"{output}: cannot be written: {error.strerror}") from error
