"""The structured log of a run: one JSON object per line in the state folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class RunLog:
    """Writes log lines through structlog into `<state>/runs/<run>/log.jsonl`."""

    def __init__(self, folder: Path) -> None:
        import structlog

        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "log.jsonl"
        self._file = self.path.open("a", encoding="utf-8")
        self._logger: Any = structlog.wrap_logger(
            structlog.PrintLogger(self._file),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """One line; fields that structlog uses itself get a prefix."""
        fields = {(f"field_{key}" if key in ("event", "level", "timestamp") else key): v for key, v in data.items()}
        method = getattr(self._logger, level, self._logger.info)
        method(message, **fields)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
