"""How tasks end: cancelled, or by foreign code that raises CancelledError itself, or with the whole process."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Whether the present task was cancelled."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def leave_to_the_loop() -> None:
    """Called before the present task raises SystemExit or KeyboardInterrupt.

    asyncio raises these out of its loop, and would report that nobody has retrieved them from the task, too.
    """
    task = asyncio.current_task()
    if task is not None:
        task.add_done_callback(_retrieve)


def _retrieve(task: asyncio.Task[object]) -> None:
    if not task.cancelled():
        task.exception()
