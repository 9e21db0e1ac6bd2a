"""The port of a store of packs: per run a list of packs, each with the commit at which the run stood with it.

    begin    a process begins to send packs of a run: those that began before it send no more
    put      one more pack; it may stand in place of earlier ones, whose objects it holds
    packs    what there is of a run, in the order in which it was put
    get      the bytes of one
    forget   all packs of a run go

`rawko.workspace.packs.conformance` is the suite that every adapter passes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from rawko.runtime.ports import WorkspaceError


class PackError(WorkspaceError):
    """A store of packs refuses.

    Attributes:
        is_retryable: It may work in a moment: the database or the disk is away.
        is_replaced: Another process sends the packs of the run now.
    """

    def __init__(self, message: str, *, is_retryable: bool = False, is_replaced: bool = False) -> None:
        super().__init__(message)
        self.is_retryable, self.is_replaced = is_retryable, is_replaced


@dataclass(frozen=True, slots=True, order=True)
class Pack:
    """A pack of a run.

    Attributes:
        epoch: Of the process that put it, and `number` its place among that process's, from 1.
        level: How often its objects have been put together with those of others.
        head: The commit at which the run stood with it (`rawko.workspace.packs.sending`).
        size: Bytes.
    """

    epoch: int
    number: int
    level: int = 0
    head: str = ""
    size: int = 0


class PackStore(Protocol):
    """A store of packs. Every call is blocking, and may come from any thread; errors are `PackError`."""

    def begin(self, run: str) -> int:
        """The epoch of a process that sends packs of a run from now on; higher than all before."""
        ...

    def put(self, run: str, pack: Pack, data: bytes, *, instead_of: Collection[Pack] = ()) -> None:
        """Store a pack, whole or not at all; those that it stands in place of go with it.

        Raises:
            PackError: `is_replaced`: another process has begun since; nothing was changed.
        """
        ...

    def packs(self, run: str) -> Sequence[Pack]:
        """The packs of a run, by epoch and number; none of a run that it does not know."""
        ...

    def get(self, run: str, pack: Pack) -> bytes:
        """The bytes of a pack.

        Raises:
            PackError: It is gone (`is_retryable`: the packs are to be listed again), or damaged.
        """
        ...

    def forget(self, run: str) -> None:
        """Remove all packs of a run, if there are any."""
        ...

    def close(self) -> None:
        """Give connections back."""
        ...
