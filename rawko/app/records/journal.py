"""The journal of a workspace: its place, how it is opened, and how a damaged file is handled.

The journal is a file in the state folder, or the database that an environment variable names. A damaged file is never
written or removed: a new run renames it and creates a new one; commands that continue a recorded run are refused.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rawko.config import ConfigError, Settings
from rawko.processes.private import append_private
from rawko.runtime.errors import JournalError

if TYPE_CHECKING:
    from rawko.journal import SqlJournal

URL_VARIABLE: Final = "RAWKO_JOURNAL_URL"
"""Only the environment can name a database: a project's file could otherwise send runs to its author's database."""
_DAMAGED: Final = ".damaged-"


def journal_of(settings: Settings) -> Path | str:
    """The journal's file, or the database's URL."""
    return settings.environ.get(URL_VARIABLE) or settings.state_dir / "journal.db"


def open_journal(settings: Settings, *, is_written: bool = False) -> SqlJournal:
    """The journal, opened for reading or for a recorded run that continues.

    Args:
        is_written: Also check that it can be written.

    Raises:
        ConfigError: It cannot be opened or written; nothing was changed.
    """
    where = journal_of(settings)
    try:
        return _writable(where) if is_written else _open(where)
    except JournalError as error:
        raise ConfigError(f"{error}{_remedy(settings, error)}") from error


def begin_journal(settings: Settings) -> tuple[SqlJournal, str | None]:
    """The journal for a new run, and a note for the user where a damaged file was renamed; else None.

    Raises:
        ConfigError: It cannot be opened or written.
    """
    where = journal_of(settings)
    try:
        try:
            return _writable(where), None
        except JournalError as error:
            if not error.is_damaged or isinstance(where, str):
                raise
            aside = _set_aside(where)
            return _writable(where), _told(error, aside)
    except JournalError as error:
        raise ConfigError(f"{error}{_remedy(settings, error)}") from error
    except OSError as error:
        raise ConfigError(
            f"the journal {str(where)!r} is damaged, and cannot be set aside: {error.strerror}"
        ) from error


def nothing_left(settings: Settings, run: str, why: str = "the journal holds nothing of it any more") -> ConfigError:
    """The error for a run whose journal rows are missing; names a renamed damaged file that may hold them."""
    aside = "".join(f"; it may be in {str(path)!r}, which is damaged" for path in _found_aside(settings)[-1:])
    return ConfigError(f"run {run!r} cannot be resumed: {why}{aside}")


def _found_aside(settings: Settings) -> list[Path]:
    """Damaged files that were renamed, oldest first."""
    where = journal_of(settings)
    if isinstance(where, str):
        return []
    found = where.parent.glob(f"{where.name}{_DAMAGED}*")
    return sorted(path for path in found if not path.name.endswith(("-wal", "-shm")))


def _open(where: Path | str) -> SqlJournal:
    from rawko.journal import SqlJournal

    return SqlJournal(where)


def _writable(where: Path | str) -> SqlJournal:
    journal = _open(where)
    try:
        journal.probe()
    except JournalError:
        journal.dispose()
        raise
    return journal


def _set_aside(file: Path) -> Path | None:
    """Rename a damaged file and its write-ahead log; None where another process has just done so."""
    with append_private(file.parent / "journal.aside.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _writable(file).dispose()
        except JournalError as error:
            if not error.is_damaged:
                raise
        else:
            return None
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        aside = file.with_name(f"{file.name}{_DAMAGED}{stamp}")
        while aside.exists():
            aside = aside.with_name(f"{aside.name}x")
        # The log first: without its file it does no harm, but beside a new file it would be taken for that file's log.
        for ending in ("-wal", "-shm", ""):
            if (old := file.with_name(file.name + ending)).exists():
                os.replace(old, aside.with_name(aside.name + ending))  # noqa: PTH105 - names of one folder
        return aside


def _told(error: JournalError, aside: Path | None) -> str | None:
    if aside is None:
        return None
    return (
        f"the journal was damaged ({error}); it is kept as {str(aside)!r}, and a new one was begun: "
        "runs that are recorded in the old one cannot be resumed"
    )


def _remedy(settings: Settings, error: JournalError) -> str:
    if not error.is_damaged or isinstance(journal_of(settings), str):
        return ""
    return "; nothing was touched. A new run (`rawko run`) sets the file aside under another name and begins a new one"
