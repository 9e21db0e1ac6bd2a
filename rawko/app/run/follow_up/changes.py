"""Files that were changed after a run's end, for the event that begins the next run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from rawko.app.recovery.reading import lost_by
from rawko.app.recovery.setback import lost_note
from rawko.config import Settings
from rawko.cutting import cut
from rawko.runtime.ports import Workspace, WorkspaceError
from rawko.vocabulary.snapshot import ChangedFiles, FileChange, Snapshot
from rawko.workspace.repository.archive import Archive

MAX_TOLD_CHANGES: Final = 50
"""Paths that the event names; of the others, it says how many."""
MAX_PATH_CHARS: Final = 200


async def told_changes(
    run: str, settings: Settings, workspace: Workspace, tree: str, notes: list[str]
) -> ChangedFiles | None:
    """What was changed since a run ended; None for nothing, and where it cannot be told, which is noted.

    Args:
        tree: Of the workspace as it is.
        notes: For the report; gets what cannot be told.
    """
    try:
        lost = await lost_by(run, settings)
        if lost is not None:
            notes.append(f"{lost_note(run, lost)}; what it did after that is in the files alone")
        known = None if lost is None else lost.target.tree
        return await changes_since(run, settings, workspace, tree, known)
    except WorkspaceError as error:
        notes.append(f"what was changed since run {run} cannot be told: {error.message}")
        return None


async def changes_since(
    run: str, settings: Settings, workspace: Workspace, tree: str, known: str | None = None
) -> ChangedFiles | None:
    """Files that have been changed since a run's last snapshot; None where there are none, or no snapshot says.

    Args:
        workspace: Of the run that goes on; it has the snapshots of both.
        tree: The files as they are now.
        known: Tree of the latest snapshot that the run's journal knows, where that is not its last one.

    Raises:
        WorkspaceError: The snapshots cannot be read.
    """

    def last() -> Snapshot | None:
        with Archive(settings.state_dir / "snapshots") as archive:
            return archive.last(run)

    before = await asyncio.to_thread(last)
    then = known or (None if before is None else before.tree)
    changes = () if then is None else await workspace.changes(then, tree)
    return _told(changes) if changes else None


def _told(changes: Sequence[FileChange]) -> ChangedFiles:
    """The first of them by name; the prompt escapes what cannot be seen in one."""
    named = changes[:MAX_TOLD_CHANGES]

    def of(kind: str) -> tuple[str, ...]:
        return tuple(cut(change.path, MAX_PATH_CHARS, is_beyond=True) for change in named if change.kind == kind)

    more = len(changes) - len(named)
    return ChangedFiles(added=of("added"), modified=of("modified"), deleted=of("deleted"), more=more)
