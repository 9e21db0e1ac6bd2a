"""What the lookup tools need of the run that they belong to, as a Protocol; its adapter is `rawko.app.lookups`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from rawko.vocabulary.snapshot import FileChange


@dataclass(frozen=True, slots=True)
class Place:
    """A moment of the run at which its files are known.

    Attributes:
        number: From 0, the files before the run.
        label: What was done then: a tool's name, "start".
    """

    number: int
    label: str
    tree: str


class RunLookups(Protocol):
    """The run's own past."""

    async def places(self) -> Sequence[Place]:
        """The snapshots of the run, oldest first.

        Raises:
            WorkspaceError: They cannot be read.
        """
        ...

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        """Paths that differ between two trees, sorted by path."""
        ...

    async def diff(self, before: str, after: str, paths: Collection[str]) -> str:
        """Unified diff of these paths between two trees."""
        ...

    def iteration(self, number: int) -> tuple[str, str] | None:
        """The trees before and after an agent's run under the arbiter; None where there is no such run, or it left no
        trees."""
        ...

    def text(self, id: str) -> str | None:
        """The whole text with an id; None where there is none."""
        ...

    def text_ids(self) -> Sequence[str]:
        """Ids of the texts that can be opened, oldest first."""
        ...
