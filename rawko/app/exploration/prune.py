"""How an exploration is removed: taken out while nobody has it at work, and what else is called after it."""

from __future__ import annotations

from pathlib import Path

from rawko.app.exploration.record import explorations_folder, read_plan
from rawko.config import ConfigError, Settings
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.locks import FileLock


def take_out(settings: Settings, run: str, place: Path) -> None:
    """Move the folder of an exploration to another place, unless some process has it at work.

    Raises:
        ConfigError: One has.
        OSError: It cannot be moved.
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
    """Move it where it was."""
    place.rename(explorations_folder(settings.state_dir) / run)


def is_exploration_at(place: Path) -> bool:
    """Whether a folder is one of an exploration, wherever it is."""
    return (place / "plan.json").is_file()


def journal_names(place: Path) -> tuple[str, ...]:
    """Its runs in the journal: one more for each time that it was gone on with, and its lease."""
    run = place.name
    try:
        stretches = len(read_plan(place).continued) + 1
    except ConfigError:  # damaged: then the first, which every exploration has
        stretches = 1
    return (run, f"{run}.lease", *(f"{run}.{number}" for number in range(2, stretches + 1)))


def forget_lock(settings: Settings, run: str) -> None:
    """Remove the last that is left of it."""
    _lock_of(settings, run).unlink(missing_ok=True)


def _lock_of(settings: Settings, run: str) -> Path:
    return explorations_folder(settings.state_dir) / f"{run}.lock"
