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
        """Record the workspace. `touched` are hints (see ToolOutcome); None looks at everything.

        Raises:
            WorkspaceError: The store or the workspace cannot be read or written.
        """
        ...

    async def reset(self, to: Snapshot | None = None) -> None:
        """Bring the files back to a snapshot: what an interrupted tool did is as if it had not happened.

        What is lost by that is kept as a snapshot first. Without `to` it is the run's latest snapshot.

        Raises:
            WorkspaceError: As `capture`.
        """
        ...

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        """Paths that differ between two trees, sorted by path."""
        ...

    async def step_changes(self, first: str, before: str, after: str) -> Sequence[StepChange]:
        """Paths that differ between the trees before and after a step, sorted by path, each as it differs between the
        first tree and the one after: what a step adds to what all steps have changed, whatever that has grown to."""
        ...

    async def diff(self, before: str, after: str) -> str:
        """Unified diff between two trees, as git prints it."""
        ...

    async def aclose(self) -> None: ...


class WorkspaceError(Exception):
    """The workspace or its store failed. `path` is what it failed on, or None."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
