"""Joins pieces of the model's text that arrive close together into one event for the machine.

Each TEXT_DELTA is a step of the machine, and a model sends ten to a hundred pieces in a second. The first piece after a
pause is passed on at once; the pieces of the next 50 ms are passed on together.

    0.00 s  "I "      TEXT_DELTA text="I "
    0.02 s  "look "   no event yet
    0.04 s  "at it"   no event yet
    0.05 s            TEXT_DELTA text="look at it"
"""

from __future__ import annotations

import asyncio
from typing import Final

from rawko.runtime.actor_kinds import Scope
from rawko.runtime.errors import InboxFull

PERIOD_S: Final = 0.05
"""The longest time that a piece waits for others, unless the machine's inbox is full."""


class TextRelay:
    """Joins the pieces of one turn. Call `close` when the turn has ended.

    Args:
        scope: The scope of the actor that asks the model; collected pieces are sent to its parent.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def take(self, text: str) -> str:
        """Add a piece; returns the text that the caller passes on now, "" where the piece waits for more."""
        if self._timer is None:
            self._wait()
            return text
        self._pieces.append(text)
        return ""

    def rest(self) -> str:
        """Remove and return the waiting text; the caller passes it on."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def close(self) -> None:
        """Drop the waiting text and stop the timer."""
        self._pieces.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self._pass_on)

    def _pass_on(self) -> None:
        self._timer = None
        if not self._pieces:
            return
        self._wait()
        try:
            self._scope.send_parent("TEXT_DELTA", text="".join(self._pieces))
        except InboxFull:  # the machine is behind: the text is sent with the next pieces
            return
        self._pieces.clear()
