"""Errors of the runtime.

RuntimeFault
├── ActorStopped     the actor ended before the awaited state or step
├── ActorCrashed     the actor's machine raised; the cause is chained
├── WaitTimeout      (also TimeoutError) the awaited state or step did not come in time
├── InboxFull        more events waiting than the actor's bound
├── JournalError     a step could not be committed; the actor has ended
├── SubscriberFailed a subscriber of steps raised; the step is committed, the actor has ended
├── ActorExists      the journal has an actor of that id already
├── UnknownActor     the journal has no actor of that id
├── ActorInUse       another process, or another actor of this process, uses that id
└── BindingsNotFound a chart's bindings cannot be found or loaded
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class RuntimeFault(Exception):
    """Base of all errors of the runtime."""


class ActorStopped(RuntimeFault):
    """The actor ended before the awaited state or step. `configuration`: its active states at the end."""

    def __init__(self, actor: str, wanted: str, configuration: Sequence[str]) -> None:
        super().__init__(f"actor {actor!r} ended in {{{', '.join(configuration)}}} before {wanted}")
        self.actor = actor
        self.configuration = tuple(configuration)


class ActorCrashed(RuntimeFault):
    """The machine raised; its error is the cause. The machine was rolled back to its state before the event."""

    def __init__(self, actor: str, error: BaseException) -> None:
        super().__init__(f"actor {actor!r} crashed: {str(error) or type(error).__name__}")
        self.actor = actor
        self.error = error


class WaitTimeout(RuntimeFault, TimeoutError):
    """The awaited state or step did not come in time. `configuration`: the actor's active states then."""

    def __init__(self, actor: str, wanted: str, timeout_s: float, configuration: Sequence[str]) -> None:
        super().__init__(
            f"actor {actor!r}: {wanted} did not come about within {timeout_s:g} s; "
            f"it is in {{{', '.join(configuration)}}}"
        )
        self.actor = actor
        self.configuration = tuple(configuration)


class InboxFull(RuntimeFault):
    """The actor's inbox is full. `limit` is in events."""

    def __init__(self, actor: str, limit: int) -> None:
        super().__init__(f"actor {actor!r} has {limit} events waiting: slow down, or give it a larger inbox_limit")
        self.actor = actor
        self.limit = limit


class JournalError(RuntimeFault):
    """A step could not be written. The step is not committed, and the actor has ended.

    `is_retryable`: the same write may succeed later; False if another writer has taken over the run. `is_damaged`: the
    store itself is broken.
    """

    def __init__(self, message: str, *, is_retryable: bool = True, is_damaged: bool = False) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable
        self.is_damaged = is_damaged


class SubscriberFailed(RuntimeFault):
    """A subscriber of an actor's steps raised; its error is the cause. The actor ends, since the subscriber has missed
    a step. That step is committed.
    """

    def __init__(self, actor: str, subscriber: object, error: BaseException) -> None:
        super().__init__(f"actor {actor!r}: subscriber {subscriber!r} raised {type(error).__name__}: {error}")
        self.actor = actor
        self.error = error


class ActorExists(RuntimeFault):
    """The journal has steps of an actor of that id already; `steps` is their number."""

    def __init__(self, id: str, journal: str, steps: int) -> None:
        super().__init__(
            f"the journal {journal} has an actor {id!r} already ({steps} steps): go on with it by "
            f"Actor.resume({id!r}, chart, bindings, journal=...), or choose another id"
        )
        self.id = id
        self.journal = journal
        self.steps = steps


class UnknownActor(RuntimeFault):
    """The journal has no step of an actor of that id."""

    def __init__(self, id: str, journal: str, known: Sequence[str] = ()) -> None:
        near = get_close_matches(id, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"the journal {journal} has no actor {id!r}{hint} A new one begins with Actor(..., id={id!r})")
        self.id = id
        self.journal = journal


class ActorInUse(RuntimeFault):
    """An actor of that id is running. `process` is the number of its process, if known."""

    def __init__(self, id: str, journal: str, process: int | None) -> None:
        holder = "another process" if process is None else f"process {process}"
        super().__init__(
            f"actor {id!r} of the journal {journal} is held by {holder}: one at a time; stop that one first"
        )
        self.id = id
        self.journal = journal
        self.process = process


class BindingsNotFound(RuntimeFault):
    """A chart's bindings cannot be found or loaded. `module` is the name of the module, or ""."""

    def __init__(self, message: str, *, module: str = "") -> None:
        super().__init__(message)
        self.module = module
