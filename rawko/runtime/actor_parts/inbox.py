"""What waits for an actor: calls into its machine, in order, within a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from rawko.runtime.errors import InboxFull


class Inbox:
    """Events that were told to an actor and that its machine has not taken yet.

    Args:
        actor: Path of the actor, for messages.
        limit: Events that may wait; ends of invocations are taken above it, they cannot be refused.

    Attributes:
        is_closed: Nothing is taken in any more.
        waiting: The calls, in order; others than the inbox only look whether there are any.
    """

    def __init__(self, actor: str, limit: int) -> None:
        self._actor = actor
        self._limit = limit
        self.waiting: deque[Callable[[], object]] = deque()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.is_closed = False

    def put(self, deliver: Callable[[], object]) -> None:
        """Add a call, whatever the bound."""
        self.waiting.append(deliver)

    def require_room(self) -> None:
        """Refuse above the bound.

        Raises:
            InboxFull: Too much is waiting.
        """
        if len(self.waiting) >= self._limit:
            raise InboxFull(self._actor, self._limit)

    def take_in(self) -> None:
        """Make the first call."""
        self.waiting.popleft()()
        if not self._has_room.is_set() and len(self.waiting) < self._limit // 2:
            self._has_room.set()

    async def room(self) -> None:
        """Wait until at most half of it is taken: iterators go at the machine's pace."""
        while len(self.waiting) >= self._limit // 2 and not self.is_closed:
            self._has_room.clear()
            await self._has_room.wait()

    def close(self) -> None:
        """Take in nothing more, and let go of those who wait for room."""
        self.is_closed = True
        self._has_room.set()

    def __bool__(self) -> bool:
        return bool(self.waiting)
