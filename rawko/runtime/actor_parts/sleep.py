"""An actor's sleep between steps: until it is woken, or until what is due next."""

from __future__ import annotations

import asyncio


class Sleep:
    """Sleeps at most once at a time.

    Attributes:
        idle: Set while it sleeps, and after the end.
        is_woken: It was woken since `look`.
    """

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.is_woken = False
        self._sleeper: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    async def until_woken(self, seconds: float | None) -> None:
        """Sleep, unless it was woken since it was last asked.

        Args:
            seconds: Wake up by then, at the latest; None: only `wake` ends the sleep.
        """
        if seconds is not None:
            self._set_alarm(seconds)
        if not self.is_woken:
            self.idle.set()
            self._sleeper = asyncio.get_running_loop().create_future()
            try:
                await self._sleeper
            finally:
                self._sleeper = None
        self.idle.clear()
        self.is_woken = False

    def wake(self) -> None:
        """End the sleep, or keep the next one from beginning."""
        self.is_woken = True
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def end(self) -> None:
        """No sleep will follow."""
        if self._alarm is not None:
            self._alarm.cancel()

    def _set_alarm(self, seconds: float) -> None:
        """Wake up then, at the latest. One that is set for an earlier time stays: most timers are set to be cancelled,
        and to wake up in vain every now and then costs less than to set it anew with every step."""
        loop = asyncio.get_running_loop()
        now, alarm = loop.time(), self._alarm
        at = now + seconds
        if alarm is not None:
            if now <= alarm.when() <= at:
                return
            alarm.cancel()
        self._alarm = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.wake()
