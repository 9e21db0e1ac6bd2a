"""An actor's sleep between steps: until `wake` is called, or a timer is due."""

from __future__ import annotations

import asyncio


class Sleep:
    """The sleep of one task.

    Attributes:
        idle: Set while it sleeps, and after the end.
        is_woken: `wake` was called since the caller last reset this flag.
    """

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.is_woken = False
        self._sleeper: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    async def until_woken(self, seconds: float | None) -> None:
        """Sleep, unless `is_woken` is set.

        Args:
            seconds: Longest sleep; None: only `wake` ends it.
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
        """End the sleep, or prevent the next one."""
        self.is_woken = True
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def end(self) -> None:
        """Cancel the alarm; no sleep follows."""
        if self._alarm is not None:
            self._alarm.cancel()

    def _set_alarm(self, seconds: float) -> None:
        """Set an alarm for the end of the sleep. An alarm at an earlier time stays: most timers are cancelled before
        they are due, and an occasional needless wake-up costs less than a new alarm with every step.
        """
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
