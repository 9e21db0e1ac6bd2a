"""How a call ends where the run has to stop: not at all."""

from __future__ import annotations

import asyncio
from typing import NoReturn


async def halted() -> NoReturn:
    """Wait until the run is stopped."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets the event")
