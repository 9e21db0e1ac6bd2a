"""The model's text on its way to the machine: pieces that arrive close together become one event.

Each TEXT_DELTA is a step of the machine, and a model sends some ten to some hundred pieces in a second. The first
piece after a pause goes on at once; the pieces of the next 50 ms go on together.

    0.00 s  "I "      TEXT_DELTA text="I "
    0.02 s  "look "   nothing yet
    0.04 s  "at it"   nothing yet
    0.05 s            TEXT_DELTA text="look at it"
"""

from __future__ import annotations

import asyncio
from typing import Final

from rawko.runtime.actor_kinds import Scope
from rawko.runtime.errors import InboxFull

PERIOD_S: Final = 0.05
"""The longest time that a piece waits for others, while the machine keeps up."""


class TextRelay:
    """Joins the pieces of one turn. Call `close` when the turn has ended.

    Args:
        scope: Of the actor that asks the model; its parent gets what has waited long enough.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def take(self, text: str) -> str:
        """Take a piece; returns the text that the caller is to pass on now, "" where it waits for more."""
        if self._timer is None:
            self._wait()
            return text
        self._pieces.append(text)
        return ""

    def rest(self) -> str:
        """The text that still waits, which the caller is to pass on now."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def close(self) -> None:
        """Pass on nothing more."""
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
        except InboxFull:  # the machine is behind: the text goes on with what comes next
            return
        self._pieces.clear()
