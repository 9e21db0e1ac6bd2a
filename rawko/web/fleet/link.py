"""The fleet's database for pages: opened once it answers, and asked in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from rawko.fleet.errors import FleetError
from rawko.fleet.fleet import Fleet
from rawko.web.answers import Away

_T = TypeVar("_T")


class FleetLink:
    """One connection to the fleet; questions are answered one after the other.

    Args:
        environ: Names the database.
        fleet: Open already; None: it is opened with the first question.
    """

    def __init__(self, environ: Mapping[str, str], fleet: Fleet | None = None) -> None:
        self._environ, self._fleet = environ, fleet
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fleet")

    async def ask(self, call: Callable[[Fleet], _T]) -> _T:
        """The answer of a call.

        Raises:
            Away: The database does not answer at the moment.
            FleetError: What is asked for is not possible.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._asked, call)

    def _asked(self, call: Callable[[Fleet], _T]) -> _T:
        try:
            if self._fleet is None:
                self._fleet = Fleet.open(self._environ)
            return call(self._fleet)
        except FleetError as error:
            if error.is_retryable:
                raise Away(str(error)) from error
            raise

    async def close(self) -> None:
        """Give the connections back."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        fleet, self._fleet = self._fleet, None
        if fleet is not None:
            with suppress(FleetError):
                fleet.close()
