"""The files that were changed after a run's end, for the event that starts the run that follows it."""

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
"""Most paths that the event names; for the others it gives their number."""
MAX_PATH_CHARS: Final = 200


async def told_changes(
    run: str, settings: Settings, workspace: Workspace, tree: str, notes: list[str]
) -> ChangedFiles | None:
    """The files that were changed since a run ended; None where none were, or where they cannot be read.

    Args:
        tree: Git tree of the workspace as it is now.
        notes: Notes for the report; one is added where the changes cannot be read.
    """
    try:
        lost = await lost_by(run, settings)
        if lost is not None:
            notes.append(f"{lost_note(run, lost)}; what it did after that is in the files alone")
        known = None if lost is None else lost.target.tree
        return await changes_since(run, settings, workspace, tree, known)
    except WorkspaceError as error:
        notes.append(f"the files that were changed since run {run} cannot be read: {error.message}")
        return None


async def changes_since(
    run: str, settings: Settings, workspace: Workspace, tree: str, known: str | None = None
) -> ChangedFiles | None:
    """Files that were changed since a run's last snapshot; None where none were, or where the run has no snapshot.

    Args:
        workspace: The workspace of the run that continues; its store has the snapshots of both runs.
        tree: Git tree of the files as they are now.
        known: Tree of the latest snapshot that the run's journal names, where the run has later ones.

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
    """The first `MAX_TOLD_CHANGES` paths by kind of change; the prompt escapes invisible characters in them."""
    named = changes[:MAX_TOLD_CHANGES]

    def of(kind: str) -> tuple[str, ...]:
        return tuple(cut(change.path, MAX_PATH_CHARS, is_beyond=True) for change in named if change.kind == kind)

    more = len(changes) - len(named)
    return ChangedFiles(added=of("added"), modified=of("modified"), deleted=of("deleted"), more=more)
