"""The note of a fork that is being made: which folder is filled, and by a living process or not.

    state/forks/RUN.json    {"folder": "/home/ada/project-7f2c4e", "beside": "/home/ada/.project-7f2c4e.1f0c9a2b"}
    state/forks/RUN.lock    held by the process that makes the fork

A process that is killed leaves its note, by which the next fork removes the half-filled folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rawko.app.records.json_files import read_file, write_file
from rawko.app.records.record import has_record
from rawko.config import ConfigError, Settings
from rawko.processes.private import make_private
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.locks import FileLock

_FOLDER: Final = "forks"


@contextmanager
def noted(settings: Settings, run: str, folder: Path, beside: Path) -> Iterator[None]:
    """Note a fork while its folder is filled under another name beside its place.

    Raises:
        ConfigError: The note cannot be written.
    """
    note = settings.state_dir / _FOLDER / f"{run}.json"
    lock = FileLock(note.with_suffix(".lock"))
    try:
        make_private(note.parent)
        lock.acquire(f"fork {run!r}")
    except (OSError, WorkspaceError) as error:
        raise ConfigError(f"{note.parent}: cannot be written: {error}") from error
    try:
        write_file(note, {"folder": str(folder), "beside": str(beside)})
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)
            note.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()


def remove_leftovers(settings: Settings) -> None:
    """Remove the folders that killed forks have not finished filling.

    A folder that is at its place already stays, with the note: its user may have found it, and worked in it.
    """
    for note in (settings.state_dir / _FOLDER).glob("*.json"):
        lock = note.with_suffix(".lock")
        with suppress(OSError, WorkspaceError, ConfigError, KeyError), FileLock(lock).alone_or_not() as is_free:
            if is_free and note.is_file():
                told = read_file(note)
                shutil.rmtree(told["beside"], ignore_errors=True)
                if has_record(settings, note.stem) or not Path(told["folder"]).is_dir():
                    note.unlink()
                    lock.unlink()


def is_leftover(settings: Settings, folder: Path) -> bool:
    """Whether a folder was filled by a fork that was killed before its run was recorded."""
    for note in (settings.state_dir / _FOLDER).glob("*.json"):
        with suppress(ConfigError):
            if read_file(note).get("folder") == str(folder) and not has_record(settings, note.stem):
                return True
    return False
