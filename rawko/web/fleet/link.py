"""Access of pages to the fleet's database: opened on first use, called in one separate thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from rawko.fleet.errors import FleetError
from rawko.fleet.fleet import Fleet
from rawko.web.answers import Unavailable

_T = TypeVar("_T")


class FleetLink:
    """A connection to the fleet; calls run one after the other.

    Args:
        environ: The environment that names the database.
        fleet: A fleet that is open already; None: it is opened with the first call.
    """

    def __init__(self, environ: Mapping[str, str], fleet: Fleet | None = None) -> None:
        self._environ, self._fleet = environ, fleet
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fleet")

    async def ask(self, call: Callable[[Fleet], _T]) -> _T:
        """The result of a function called with the fleet.

        Raises:
            Unavailable: The database does not answer at present.
            FleetError: The call is not possible.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._asked, call)

    def _asked(self, call: Callable[[Fleet], _T]) -> _T:
        try:
            if self._fleet is None:
                self._fleet = Fleet.open(self._environ)
            return call(self._fleet)
        except FleetError as error:
            if error.is_retryable:
                raise Unavailable(str(error)) from error
            raise

    async def close(self) -> None:
        """Close the fleet's connections."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        fleet, self._fleet = self._fleet, None
        if fleet is not None:
            with suppress(FleetError):
                fleet.close()
