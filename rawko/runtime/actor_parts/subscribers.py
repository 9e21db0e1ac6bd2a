"""The subscribers of an actor: called with every committed step; they may take snapshots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rawko.interpreter.data.steps import Step
from rawko.runtime.actor_parts.members import Tree
from rawko.runtime.errors import SubscriberFailed

StepListener: TypeAlias = Callable[[Step], None]


class Subscribers:
    """The subscribers of one actor, in the order in which they were added.

    Args:
        path: Of the actor, for messages.
        tree: `is_whole` is set while they are called, so that they may take a snapshot.

    Attributes:
        callbacks: In order; other modules only check whether there are any.
    """

    def __init__(self, path: str, tree: Tree) -> None:
        self.callbacks: list[StepListener] = []
        self._path = path
        self._tree = tree

    def add(self, callback: StepListener) -> Callable[[], None]:
        """Call `callback` from now on; returns a function that removes it."""
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback) if callback in self.callbacks else None

    def tell(self, step: Step) -> SubscriberFailed | None:
        """Call all subscribers; return the first failure, or None."""
        failed: SubscriberFailed | None = None
        self._tree.is_whole = True
        try:
            for callback in tuple(self.callbacks):
                try:
                    callback(step)
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as error:  # noqa: BLE001 - foreign code; the actor ends with its error
                    failed = failed or SubscriberFailed(self._path, callback, error)
        finally:
            self._tree.is_whole = False
        return failed
