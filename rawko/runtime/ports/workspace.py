"""The Workspace port: the folder that agents work in, and its snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rawko.vocabulary.snapshot import FileChange, Snapshot, StepChange


class Workspace(Protocol):
    """The folder that agents work in, and its snapshots."""

    @property
    def root(self) -> str: ...

    async def capture(self, label: str, touched: Sequence[str] | None = None) -> Snapshot:
        """Record the workspace. `touched` are hints (see ToolOutcome); None scans everything.

        Raises:
            WorkspaceError: The store or the workspace cannot be read or written.
        """
        ...

    async def reset(self, to: Snapshot | None = None) -> None:
        """Restore the files of a snapshot, to undo an interrupted tool.

        The present files are captured first. Without `to`, the run's latest snapshot is restored.

        Raises:
            WorkspaceError: As `capture`.
        """
        ...

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        """Paths that differ between two trees, sorted by path."""
        ...

    async def step_changes(self, first: str, before: str, after: str) -> Sequence[StepChange]:
        """Paths that differ between the trees `before` and `after` of a step, sorted, each with its difference
        between `first` and `after`.
        """
        ...

    async def diff(self, before: str, after: str) -> str:
        """Unified diff between two trees, as git prints it."""
        ...

    async def aclose(self) -> None: ...


class WorkspaceError(Exception):
    """The workspace or its store failed. `path`: the path concerned, or None."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
