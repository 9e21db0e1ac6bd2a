"""Where a run is kept: the snapshots of its files and its journal, opened together and held to each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rawko.app.records.journal import begin_journal, open_journal
from rawko.app.records.record import read_record
from rawko.app.recovery.consistency import Lost
from rawko.app.recovery.reading import check_store, fit_of, known_snapshot, refusal
from rawko.app.run.parts.workspace import open_workspace
from rawko.config import ConfigError, Settings
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import Journal
from rawko.runtime.ports import WorkspaceError
from rawko.runtime.replay.recorded import Recorded, read_recorded

if TYPE_CHECKING:
    from rawko.workspace import SnapshotWorkspace

Close = Callable[[Callable[[], Awaitable[None]], str], Awaitable[None]]
"""Closes a part of a run, of which the name is given, within a deadline."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Snapshots and journal of a run.

    Attributes:
        recorded: What the journal holds of a run that goes on; None of a new one.
        lost: What the journal has lost of it.
        notes: For the report.
    """

    workspace: SnapshotWorkspace
    journal: Journal
    recorded: Recorded | None = None
    lost: Lost | None = None
    notes: tuple[str, ...] = ()

    def files_noted(self) -> dict[str, Any]:
        """The snapshot that holds the files as they are known to be, by its commit; for the rows of the journal."""
        latest = self.workspace.latest
        return {} if latest is None else {"snapshot": latest.commit}


async def open_stores(settings: Settings, run: str, stack: AsyncExitStack, close: Close, *, is_resumed: bool) -> Stores:
    """Open both, and make sure that those of a run that goes on belong together.

    Args:
        stack: Gets what closes them.

    Raises:
        ConfigError: One of them cannot be used, or they do not belong together.
    """
    if is_resumed:
        check_store(settings, run)
    workspace = await open_workspace(settings, run)
    stack.push_async_callback(close, workspace.aclose, "workspace")
    if is_resumed:
        journal, told = open_journal(settings, is_written=True), None
    else:
        journal, told = begin_journal(settings)
    stack.push_async_callback(close, journal.aclose, "journal")
    notes = (told,) if told else ()
    workspace.row = 0
    if not is_resumed:
        return Stores(workspace, journal, notes=notes)
    try:
        recorded = await read_recorded(journal, run)
        workspace.row = recorded.last_seq
        chain = await workspace.chain(known_snapshot(recorded))
    except (JournalError, WorkspaceError) as error:
        raise ConfigError(f"run {run!r} cannot be resumed: {error}") from error
    fit = fit_of(read_record(run, settings), recorded, chain)
    if fit.problem is not None:
        raise refusal(settings, run, fit)
    return Stores(workspace, journal, recorded, fit.lost, notes)
