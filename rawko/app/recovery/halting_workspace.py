"""A workspace that cannot be recorded any more stops the run where it stands.

A full disk, a folder that has become read-only: nothing that an agent did wrong, and nothing that another agent could
do better. So the machine is not told of it; the call waits until the run is stopped, and since its end is not in the
journal, the run goes on with that very call once somebody has mended what is broken.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from rawko.app.recovery.halting import halted
from rawko.machines.agent_loop.context import CANCELLED_LABEL
from rawko.runtime.ports import Workspace, WorkspaceError
from rawko.vocabulary.snapshot import FileChange, Snapshot, StepChange

Result = TypeVar("Result")


class HaltingWorkspace:
    """A workspace as the machines see it.

    Args:
        halt: Told why the run has to stop; called once at most.
    """

    def __init__(self, workspace: Workspace, halt: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._halt = halt

    @property
    def root(self) -> str:
        return self._workspace.root

    async def capture(self, label: str, touched: Sequence[str] | None = None) -> Snapshot:
        """As the workspace's; but a run that is being cancelled is told of a failure, and ends."""
        captured = self._workspace.capture(label, touched)
        return await captured if label == CANCELLED_LABEL else await self._or_halt(captured)

    async def reset(self, to: Snapshot | None = None) -> None:
        await self._or_halt(self._workspace.reset(to))

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        return await self._or_halt(self._workspace.changes(before, after))

    async def step_changes(self, first: str, before: str, after: str) -> Sequence[StepChange]:
        return await self._or_halt(self._workspace.step_changes(first, before, after))

    async def diff(self, before: str, after: str) -> str:
        return await self._or_halt(self._workspace.diff(before, after))

    async def aclose(self) -> None:
        """It is closed by whoever opened it."""

    async def _or_halt(self, work: Awaitable[Result]) -> Result:
        try:
            return await work
        except (WorkspaceError, OSError) as error:
            self._halt(str(error))
        return await halted()
