"""Removes an exploration: moves its folder away while no process runs it, and lists its runs in the journal."""

from __future__ import annotations

from pathlib import Path

from rawko.app.exploration.places import explorations_folder
from rawko.app.exploration.record import read_plan
from rawko.config import ConfigError, Settings
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.locks import FileLock


def take_out(settings: Settings, run: str, place: Path) -> None:
    """Move the folder of an exploration to another place, unless a process runs it.

    Raises:
        ConfigError: A process runs it.
        OSError: The folder cannot be moved.
    """
    lock = FileLock(_lock_of(settings, run))
    try:
        lock.acquire(f"exploration {run!r}")
        (explorations_folder(settings.state_dir) / run).rename(place)
    except WorkspaceError as error:
        raise ConfigError(error.message) from error
    finally:
        lock.release()


def put_back(settings: Settings, run: str, place: Path) -> None:
    """Move the folder back."""
    place.rename(explorations_folder(settings.state_dir) / run)


def is_exploration_at(place: Path) -> bool:
    """Whether a folder, at any place, is that of an exploration."""
    return (place / "plan.json").is_file()


def journal_names(place: Path) -> tuple[str, ...]:
    """The exploration's runs in the journal: its first, one for each time that it was resumed, and its lease."""
    run = place.name
    try:
        stretches = len(read_plan(place).continued) + 1
    except ConfigError:  # damaged: the first run, which every exploration has
        stretches = 1
    return (run, f"{run}.lease", *(f"{run}.{number}" for number in range(2, stretches + 1)))


def remove_lock(settings: Settings, run: str) -> None:
    """Remove the lock file, the last remaining file."""
    _lock_of(settings, run).unlink(missing_ok=True)


def _lock_of(settings: Settings, run: str) -> Path:
    return explorations_folder(settings.state_dir) / f"{run}.lock"
