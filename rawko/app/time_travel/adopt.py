"""Bringing what another run has made into the files of the current folder: a fork's changes, as git merges a branch.

    base    the files that the fork began with
    ours    the folder as it is now, with whatever was edited since
    theirs  the files of the fork's step

What both sides have changed in ways that do not fit together is told, and nothing is changed; `prefer` decides it, and
`only` leaves it out. The adoption is a row of the run that the fork came from, with the files as they were before, as
of a rewind of files alone: killed half-way, it is finished by the next command that names that run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rawko.app.records.addresses import Address
from rawko.app.records.record import RunRecord, check_workspace, read_record
from rawko.app.records.rewind_note import Intent
from rawko.app.run.parts.workspace import open_workspace, running_folder
from rawko.app.time_travel.recorded_run import Past, open_past
from rawko.app.time_travel.rewind import Begin, carry_out, check_nobody_works
from rawko.app.time_travel.unfinished import finish_rewind
from rawko.config import ConfigError, Settings
from rawko.runtime.ports import WorkspaceError
from rawko.runtime.replay.recorded import read_latest
from rawko.tools.commands.leftovers import Leftovers
from rawko.vocabulary.snapshot import Conflict, FileChange, Snapshot

if TYPE_CHECKING:
    from rawko.workspace import SnapshotWorkspace
    from rawko.workspace.repository.merge import Side
    from rawko.workspace.store import Merging


@dataclass(frozen=True, slots=True)
class Adopted:
    """What an adoption did, or would do.

    Attributes:
        origin: The run and the step, or the snapshot, whose changes were brought in.
        run: The run of this folder whose journal tells it.
        row: Of that journal; None where nothing was changed.
        changes: Paths that changed on disk, or would.
        conflicts: Paths on which both sides have worked; where `prefer` did not decide them, nothing was changed.
        safety: Holds the workspace as it was before.
        is_refused: There are conflicts that nobody has decided, or that nobody can: a path that is not captured.
    """

    origin: str
    run: str
    row: int | None
    changes: tuple[FileChange, ...]
    conflicts: tuple[Conflict, ...]
    safety: Snapshot
    is_refused: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "origin": self.origin,
            "run": self.run,
            "row": self.row,
            "files_changed": [change.path for change in self.changes],
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "safety": self.safety.commit,
            "is_refused": self.is_refused,
        }


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be adopted.

    Attributes:
        only: Files and folders of the workspace; all where there are none.
        prefer: Whose file is taken where there is a conflict.
    """

    only: Collection[str] = ()
    prefer: Side | None = None


async def plan_adoption(address: Address, current: Settings, wish: Wish = Wish()) -> Adopted:
    """What an adoption would do; see `adopt`. Only the snapshot of the files as they are is taken.

    Raises:
        ConfigError: As for `adopt`.
    """
    async with _opened(address, current) as source:
        workspace = await _workspace(source)
        try:
            found = await _bring_in(workspace, source, wish, dry_run=True)
        except WorkspaceError as error:
            raise ConfigError(f"{source} cannot be adopted: {error.message}") from error
        finally:
            await workspace.aclose(is_cleaning=False)
        return _told(source, found)


async def adopt(address: Address, current: Settings, wish: Wish = Wish()) -> Adopted:
    """Bring the changes of a fork, up to a step, into the current folder.

    Raises:
        ConfigError: There is no such run, step or snapshot; the run is no fork of a run of this folder; a run is at
            work here; a path of `only` lies outside; the files cannot be changed. They are as they were.
    """
    async with _opened(address, current) as source:
        target = source.target
        await asyncio.to_thread(Leftovers(running_folder(target.record.settings, target.record.run)).end_all)
        came_from = await target.step(None)
        notes = (await read_latest(target.journal, target.record.run, came_from)).notes
        intent = Intent(
            "adopt", source.step, came_from, source.theirs, None, notes, None, time.time(), origin=source.run
        )
        found: Merging | None = None

        async def change(workspace: SnapshotWorkspace, begin: Begin) -> Merging:
            nonlocal found

            def begun(safety: Snapshot, merged: Snapshot) -> None:
                begin(replace(intent, files=merged, safety=safety))

            found = await _bring_in(workspace, source, wish, row=came_from + 1, begin=begun)
            if found.now is None:
                raise _NothingToDo
            return found

        try:
            done = await carry_out(target.record, intent, target.journal, change)
        except _NothingToDo:
            assert found is not None
            return _told(source, found)
        assert found is not None
        return replace(_told(source, found), row=done.row)


class _NothingToDo(Exception):
    """The files are to stay as they are."""


# ---------------------------------------------------------------- what is merged with what


@dataclass(frozen=True, slots=True)
class _Source:
    """A fork, opened, with the run that it came from, whose folder this is.

    Attributes:
        step: None where the files are named by a snapshot.
        base, theirs: The files that the fork began with, and those that are adopted.
    """

    run: str
    step: int | None
    target: Past
    base: Snapshot
    theirs: Snapshot

    def __str__(self) -> str:
        return f"{self.run}@{self.theirs.commit[:7] if self.step is None else self.step}"


@asynccontextmanager
async def _opened(address: Address, current: Settings) -> AsyncIterator[_Source]:
    """Everything that an adoption needs, checked."""
    child, target = _line_of(read_record(address.run, current), current)
    for run in (address.run, target.run):
        await finish_rewind(run, current)
    async with open_past(target.run, current) as here, open_past(address.run, current) as past:
        check_workspace(here.record)
        check_nobody_works(here.record)
        step = None if address.is_snapshot else await past.step(address.place)
        theirs = await past.files(address.place)
        base = _first_files(past, child)
        for files in (base, theirs):
            past.check_whole(files)
        yield _Source(address.run, step, here, base, theirs)


def _first_files(past: Past, run: str) -> Snapshot:
    """The files that a fork began with."""
    try:
        return past.archive.snapshots(run)[0]
    except (WorkspaceError, IndexError) as error:
        raise ConfigError(f"the files that run {run!r} began with are missing: {error}; nothing was changed") from error


def _line_of(record: RunRecord, current: Settings) -> tuple[str, RunRecord]:
    """The run of this folder that a fork comes from, and the first fork on the way to it.

    Raises:
        ConfigError: There is none.
    """
    run, folder = record, current.workspace.resolve()
    if _folder_of(record) == folder:
        raise ConfigError(
            f"run {record.run!r} works in this folder itself, so what it made is here; `rawko rewind` goes to "
            "another of its steps. Adopted are the changes of a fork: rawko fork"
        )
    while run.parent is not None:
        parent = read_record(run.parent.run, current)
        if _folder_of(parent) == folder:
            return run.run, parent
        run = parent
    raise ConfigError(
        f"run {record.run!r} was not forked from a run of the folder {str(folder)!r}, so they have no common "
        f"beginning; the first run of its line works in {str(run.settings.workspace)!r}: adopt it there"
    )


def _folder_of(record: RunRecord) -> Path:
    return record.settings.workspace.resolve()


# ---------------------------------------------------------------- doing it


async def _workspace(source: _Source) -> SnapshotWorkspace:
    record = source.target.record
    workspace = await open_workspace(record.settings, record.run)
    workspace.row = await source.target.step(None)
    return workspace


async def _bring_in(workspace: SnapshotWorkspace, source: _Source, wish: Wish, **how: Any) -> Merging:
    return await workspace.merge(
        source.base, source.theirs, label=str(source), only=wish.only, prefer=wish.prefer, **how
    )


def _told(source: _Source, found: Merging) -> Adopted:
    return Adopted(
        origin=str(source),
        run=source.target.record.run,
        row=None,
        changes=found.changes,
        conflicts=found.conflicts,
        safety=found.safety,
        is_refused=found.is_refused,
    )
