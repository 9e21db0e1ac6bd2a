"""The latest output of a running command for people who watch, emitted as TOOL_OUTPUT at most five times a second.

Each event has the end of all output so far, so an observer that starts late or misses an event needs no earlier one.

    00.00 s  "collecting\\n"      no event yet
    00.05 s  "test_a PASSED\\n"   no event yet
    00.20 s                       TOOL_OUTPUT tail="collecting\\ntest_a PASSED\\n" bytes=25
"""

from __future__ import annotations

import asyncio
from typing import Final

from rawko.runtime.actor_kinds import Scope

PERIOD_S: Final = 0.2
MAX_TAIL_BYTES: Final = 2_000


class OutputRelay:
    """Collects the output of one tool call. Call `close` when the call has ended.

    Args:
        scope: The scope of the actor that runs the call; its `emit` reaches the observers.
        agent: The agent that made the call.
        call: Id of the call.
    """

    def __init__(self, scope: Scope, agent: str, call: str) -> None:
        self._scope, self._agent, self._call = scope, agent, call
        self._tail = b""
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, piece: bytes) -> None:
        """Add a piece of output; it may begin or end within a character."""
        self._bytes += len(piece)
        self._tail = (self._tail + piece)[-MAX_TAIL_BYTES:]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self._emit)

    def close(self) -> None:
        """Emit no further event; the call's result follows."""
        if self._timer is not None:
            self._timer.cancel()

    def _emit(self) -> None:
        self._timer = None
        tail = self._tail.decode("utf-8", "replace")
        self._scope.emit("TOOL_OUTPUT", agent=self._agent, id=self._call, tail=tail, bytes=self._bytes)
