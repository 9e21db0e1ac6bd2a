"""An actor's inbox: queued calls into its machine, in order, within a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from rawko.interpreter.running.interpreter import Interpreter
from rawko.runtime.errors import InboxFull

Call = Callable[[Interpreter], object]
"""Passes something to a machine."""


class Inbox:
    """Events for an actor that its machine has not processed yet.

    Args:
        actor: Path of the actor, for messages.
        limit: Bound on queued events; ends of invocations are accepted above it, since they cannot be refused.

    Attributes:
        is_closed: No further call is accepted.
        waiting: The calls, in order; other modules only check whether there are any.
    """

    def __init__(self, actor: str, limit: int) -> None:
        self._actor = actor
        self._limit = limit
        self.waiting: deque[Call] = deque()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.is_closed = False

    def put(self, deliver: Call) -> None:
        """Add a call, regardless of the bound."""
        self.waiting.append(deliver)

    def require_room(self) -> None:
        """Refuse an event at the bound.

        Raises:
            InboxFull: The bound is reached.
        """
        if len(self.waiting) >= self._limit:
            raise InboxFull(self._actor, self._limit)

    def take_in(self, machine: Interpreter) -> None:
        """Run the first call."""
        self.waiting.popleft()(machine)
        if not self._has_room.is_set() and len(self.waiting) < self._limit // 2:
            self._has_room.set()

    async def room(self) -> None:
        """Wait until the inbox is less than half full, so that iterators yield no faster than the machine steps."""
        while len(self.waiting) >= self._limit // 2 and not self.is_closed:
            self._has_room.clear()
            await self._has_room.wait()

    def close(self) -> None:
        """Accept no further calls, and release those who wait for room."""
        self.is_closed = True
        self._has_room.set()

    def __bool__(self) -> bool:
        return bool(self.waiting)
