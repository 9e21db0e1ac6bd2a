"""The folder of a lane, beside the workspace, with the files of a snapshot and shared files; made atomically.

    project/                                    the workspace
    project.lanes/20261122-103005-7f2c4e1__a/   lane "a" of that run

Nothing is written to the user's repository: the folder is no working tree of git, and `GIT_CEILING_DIRECTORIES` keeps a
`git` command in it from finding a repository above it.
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
"""Number of ports of a lane; the variable PORT has the first of them."""
MAX_PORT: Final = 65_535


def lane_folder(workspace: Path, run: str) -> Path:
    """The folder of a lane.

    Args:
        run: The id of the lane's own run.
    """
    return workspace.with_name(f"{workspace.name}.lanes") / run


def temporary_folder(settings: Settings, run: str) -> Path:
    """The lane's `TMPDIR`, outside of its folder; removed when the lane has ended."""
    return settings.state_dir / "tmp" / run


def lane_settings(settings: Settings, note: LaneNote, run: str) -> Settings:
    """The settings of the parent run, with the lane's folder and variables.

    Raises:
        ConfigError: There are not enough ports.
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
    """Make the folder with the files of a snapshot and the files that the settings share.

    A folder that a killed process has left incomplete is made again; the lane's note shows that it is not the user's.

    Raises:
        ConfigError: The folder cannot be made or filled; nothing of it is left.
        SharingStopped: `is_stopped` returned True; nothing of it is left.
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
    except BaseException as error:  # KeyboardInterrupt, too
        shutil.rmtree(beside, ignore_errors=True)
        remove_if_empty(folder.parent)
        if isinstance(error, OSError):
            place = error.filename or str(folder)
            raise ConfigError(f"the folder {str(folder)!r} cannot be made: {place}: {error.strerror}") from error
        if isinstance(error, WorkspaceError):
            raise ConfigError(f"the folder {str(folder)!r} cannot be filled: {error.message}") from error
        raise


def check_free(folder: Path) -> None:
    """Refuse a folder that exists already.

    Raises:
        ConfigError: It exists, and was not made for this lane.
    """
    if os.path.lexists(folder):
        raise ConfigError(f"the folder {str(folder)!r} exists already, and no lane of this run has made it")


def remove_folder(folder: Path) -> None:
    """Remove the folder of a lane that never started its run."""
    shutil.rmtree(folder, ignore_errors=True)
    remove_if_empty(folder.parent)


def remove_if_empty(folder: Path) -> None:
    """Remove the parent folder of all lanes, if no lane is left in it."""
    try:
        folder.rmdir()
    except OSError:
        return
