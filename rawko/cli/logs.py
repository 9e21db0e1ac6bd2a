"""The structured log of a run: one JSON object per line in the state folder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from rawko.processes.private import append_private, make_private
from rawko.vocabulary.masking import Masker
from rawko.vocabulary.visible import visible_json

_TAKEN = ("event", "level", "timestamp")


class RunLog:
    """Writes log lines through structlog into `<folder>/log.jsonl`, which the first line creates.

    Args:
        masker: Masks the session's keys in log lines.
    """

    def __init__(self, folder: Path, masker: Masker | None = None) -> None:
        self._masker = masker or Masker({})
        self.path = folder / "log.jsonl"
        self._file: TextIO | None = None
        self._logger: Any = None

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Write a line; fields with names that structlog uses get a prefix."""
        if self._file is None:
            self._open()
        fields = {(f"field_{key}" if key in _TAKEN else key): value for key, value in data.items()}
        method = getattr(self._logger, level, self._logger.info)
        method(self._masker.text(message), **self._masker.json(fields))

    def _open(self) -> None:
        import structlog

        make_private(self.path.parent)
        self._file = append_private(self.path, errors="backslashreplace")
        self._logger = structlog.wrap_logger(
            structlog.PrintLogger(self._file),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(visible_json),
            ],
        )

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # the rest of the buffer could not be written before, either
                self._file.close()
