"""Errors of the runtime.

RuntimeFault
├── ActorStopped     the actor ended before what was waited for came about
├── ActorCrashed     the actor's machine raised; the cause is chained
├── WaitTimeout      (also TimeoutError) what was waited for did not come about in time
├── InboxFull        more events waiting than the actor's bound
├── JournalError     a step could not be committed; it has not happened
└── BindingsNotFound a chart's bindings cannot be found or loaded
"""

from __future__ import annotations

from collections.abc import Sequence


class RuntimeFault(Exception):
    """Base of all errors of the runtime."""


class ActorStopped(RuntimeFault):
    """The actor ended first. `configuration` is where."""

    def __init__(self, actor: str, wanted: str, configuration: Sequence[str]) -> None:
        super().__init__(f"actor {actor!r} ended in {{{', '.join(configuration)}}} before {wanted}")
        self.actor = actor
        self.configuration = tuple(configuration)


class ActorCrashed(RuntimeFault):
    """The machine raised; its error is the cause. The machine is as before the event that did it."""

    def __init__(self, actor: str, error: BaseException) -> None:
        super().__init__(f"actor {actor!r} crashed: {error}")
        self.actor = actor
        self.error = error


class WaitTimeout(RuntimeFault, TimeoutError):
    """It did not come about in time. `configuration` is where the actor was."""

    def __init__(self, actor: str, wanted: str, timeout_s: float, configuration: Sequence[str]) -> None:
        super().__init__(
            f"actor {actor!r}: {wanted} did not come about within {timeout_s:g} s; "
            f"it is in {{{', '.join(configuration)}}}"
        )
        self.actor = actor
        self.configuration = tuple(configuration)


class InboxFull(RuntimeFault):
    """The actor does not keep up. `limit` is in events."""

    def __init__(self, actor: str, limit: int) -> None:
        super().__init__(f"actor {actor!r} has {limit} events waiting: slow down, or give it a larger inbox_limit")
        self.actor = actor
        self.limit = limit


class JournalError(RuntimeFault):
    """A step could not be written. What is not committed has not happened: the actor has stopped.

    `is_retryable`: the same write may succeed later; not so where another writer has taken the run over.
    `is_damaged`: the store itself is broken.
    """

    def __init__(self, message: str, *, is_retryable: bool = True, is_damaged: bool = False) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable
        self.is_damaged = is_damaged


class BindingsNotFound(RuntimeFault):
    """A chart's bindings cannot be found or loaded. `module` is the name that was tried, or ""."""

    def __init__(self, message: str, *, module: str = "") -> None:
        super().__init__(message)
        self.module = module
