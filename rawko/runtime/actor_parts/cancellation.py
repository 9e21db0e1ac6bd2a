"""Tells a task that was cancelled from foreign code that raises CancelledError by itself."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Whether the present task was cancelled."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
