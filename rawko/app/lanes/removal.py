"""Removes the folders of lanes with their runs, unless a person has edited files there.

A lane's folder was made for its run alone, and its states are snapshots of that run. When the run is removed, so is the
folder; edits that no snapshot holds keep both.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from rawko.app.lanes.folder import remove_if_empty
from rawko.app.records.record import RUN_FILE, RunRecord
from rawko.app.records.record_file import read_record_file
from rawko.app.run.external_edits import edits_since, named
from rawko.config import ConfigError
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.archive import Archive

_BESIDE = ".lanes"


def folder_of(run: str, workspace: Path, lane: str | None) -> Path | None:
    """The folder that was made for a lane's run; None where there is none, or where the run is no lane."""
    is_own = lane is not None and workspace.name == run and workspace.parent.name.endswith(_BESIDE)
    return workspace if is_own and workspace.is_dir() and not workspace.is_symlink() else None


def why_kept(record: RunRecord) -> str | None:
    """Why a lane's folder, and so its run, must not be removed; None where they may be."""
    folder = folder_of(record.run, record.settings.workspace, None if record.parent is None else record.parent.lane)
    if folder is None:
        return None
    try:
        with Archive(record.settings.state_dir / "snapshots") as archive:
            last = archive.last(record.run)
        edits = () if last is None else edits_since(record.settings, last)
    except WorkspaceError as error:
        return f"its folder cannot be compared with its snapshots: {error.message}"
    if not edits:
        return None
    return f"files in its folder {str(folder)!r} were edited since: {named(tuple(edit.path for edit in edits))}"


def remove_with(place: Path, run: str) -> None:
    """Remove the folder of a lane whose record was moved out of the list of runs.

    Args:
        place: The present folder of the record.
    """
    try:
        found = read_record_file(place / RUN_FILE)
    except ConfigError:
        return
    folder = folder_of(run, found.settings.workspace, None if found.parent is None else found.parent.lane)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        remove_if_empty(folder.parent)
