"""Callbacks that observe a run and cannot change it: a callback that raises is dropped and reported; the run
continues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

C = TypeVar("C", bound=Callable[..., Any])


class Observers(Generic[C]):
    """Callbacks of one kind, called in the order in which they were added.

    Args:
        report: Called with a message when a callback has raised.

    Attributes:
        callbacks: In order; other modules only check whether there are any.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self.callbacks: list[C] = []
        self._report = report

    def add(self, callback: C) -> Callable[[], None]:
        """Call `callback` from now on; returns a function that removes it."""
        self.callbacks.append(callback)
        return lambda: self._remove(callback)

    def _remove(self, callback: C) -> None:
        if callback in self.callbacks:
            self.callbacks.remove(callback)

    def tell(self, *news: Any) -> None:
        """Call all callbacks."""
        for callback in tuple(self.callbacks):
            try:
                callback(*news)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001 - foreign code; an observer must not be able to stop a run
                self._remove(callback)
                self._report(f"observer {callback!r} raised {type(error).__name__}: {error}; it gets no more events")
