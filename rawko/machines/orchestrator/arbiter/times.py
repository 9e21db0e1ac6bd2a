"""Epoch milliseconds as text, for prompts and summaries. Reads no clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at_ms: int | float) -> str:
    """ISO 8601 in UTC with milliseconds: `2026-01-23T10:00:00.000Z`."""
    moment = _EPOCH + timedelta(milliseconds=at_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
