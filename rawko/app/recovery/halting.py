"""The end of a call in a run that has been halted: it never returns."""

from __future__ import annotations

import asyncio
from typing import NoReturn


async def halted() -> NoReturn:
    """Wait forever; the task is cancelled when the run stops."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets the event")
