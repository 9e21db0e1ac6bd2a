"""The folder of a lane: beside the workspace, filled from a snapshot and with what is shared; all of it or none.

    project/                                    the workspace
    project.lanes/20261122-103005-7f2c4e1__a/   lane "a" of that run

Nothing is written to the user's repository: the folder is no working tree of git's, and a `git` that runs in it looks
for no repository above it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rawko.app.lanes.note import LaneNote
from rawko.app.lanes.sharing import share
from rawko.config import ConfigError, Settings
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.archive import Archive

if TYPE_CHECKING:
    from rawko.vocabulary.snapshot import Snapshot

PORTS: Final = 20
"""Ports of a lane: PORT is the first of them."""
MAX_PORT: Final = 65_535


def lane_folder(workspace: Path, run: str) -> Path:
    """Where the folder of a lane is.

    Args:
        run: The id of the lane's own run.
    """
    return workspace.with_name(f"{workspace.name}.lanes") / run


def temporary_folder(settings: Settings, run: str) -> Path:
    """The lane's `TMPDIR`, outside of its folder; removed when the lane has ended."""
    return settings.state_dir / "tmp" / run


def lane_settings(settings: Settings, note: LaneNote, run: str) -> Settings:
    """The settings of the run above, in the folder of the lane and with its variables.

    Raises:
        ConfigError: There are not so many ports.
    """
    port = settings.lanes.port_base + PORTS * note.number
    if port + PORTS - 1 > MAX_PORT:
        raise ConfigError(f"lanes.port_base is {settings.lanes.port_base}: lane {note.number + 1} would get no ports")
    variables: Mapping[str, str] = {
        "RAWKO_LANE": str(note.order["lane"]),
        "PORT": str(port),
        "TMPDIR": str(temporary_folder(settings, run)),
        "GIT_CEILING_DIRECTORIES": str(note.folder.parent.resolve()),
    }
    return replace(
        settings,
        workspace=note.folder,
        origin=settings.origin or settings.workspace,
        record=None,
        command_env={**settings.command_env, **variables},
    )


def make_folder(
    settings: Settings, folder: Path, files: Snapshot, *, is_stopped: Callable[[], bool] = lambda: False
) -> None:
    """Make the folder, fill it with the files of a snapshot, and share what the settings say.

    What an earlier process has left half made is made anew: the caller has noted that it is ours.

    Raises:
        ConfigError: It cannot be made or filled; nothing of it is left.
        SharingStopped: `is_stopped` said so; nothing of it is left.
    """
    beside = folder.with_name(f".{folder.name}.part")
    try:
        for left in (beside, folder):
            if os.path.lexists(left):
                shutil.rmtree(left)
        beside.mkdir(parents=True)
        with Archive(settings.state_dir / "snapshots") as archive:
            archive.write_out(files, beside)
        share(
            settings.workspace,
            beside,
            settings.lanes.share,
            is_linked=settings.sandbox,
            is_stopped=is_stopped,
        )
        beside.rename(folder)
    except BaseException as error:  # an interrupt among them
        shutil.rmtree(beside, ignore_errors=True)
        remove_if_empty(folder.parent)
        if isinstance(error, OSError):
            place = error.filename or str(folder)
            raise ConfigError(f"the folder {str(folder)!r} cannot be made: {place}: {error.strerror}") from error
        if isinstance(error, WorkspaceError):
            raise ConfigError(f"the folder {str(folder)!r} cannot be filled: {error.message}") from error
        raise


def check_free(folder: Path) -> None:
    """Refuse a folder that is there already.

    Raises:
        ConfigError: It is, and was not made for this lane.
    """
    if os.path.lexists(folder):
        raise ConfigError(f"the folder {str(folder)!r} exists already, and no lane of this run has made it")


def remove_folder(folder: Path) -> None:
    """Remove what was made for a lane that never began to work."""
    shutil.rmtree(folder, ignore_errors=True)
    remove_if_empty(folder.parent)


def remove_if_empty(folder: Path) -> None:
    """Remove the folder of all lanes where no lane is left."""
    try:
        folder.rmdir()
    except OSError:
        return
