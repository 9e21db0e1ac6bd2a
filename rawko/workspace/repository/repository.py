"""The private bare repository of a state folder: making it and opening it safely.

It is made and read through pygit2 alone, so that no GIT_* variable and no git program has a say. A run's chain of
commits is `history`'s.
"""

from __future__ import annotations

import os
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel

from rawko.processes.private import make_private, narrow
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.locks import FileLock
from rawko.workspace.repository.objects import reason_of

FORMAT = "1"
_STORE = "snapshots.git"
_CLEANINGS = "rawko-cleanings"
_SETTINGS = {
    "gc.auto": "0",
    "core.autocrlf": "false",
    "core.logAllRefUpdates": "false",
    # Another program may have the user's own settings read, too; these would change what a diff prints.
    "core.abbrev": "7",
    "core.attributesFile": os.devnull,
    "core.quotePath": "true",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    # Files of any name and content are data here: not defects that `git fsck` should report.
    "fsck.hasDotgit": "ignore",
    "fsck.gitmodulesBlob": "ignore",
    "fsck.gitmodulesLarge": "ignore",
    "fsck.gitmodulesName": "ignore",
    "fsck.gitmodulesParse": "ignore",
    "fsck.gitmodulesPath": "ignore",
    "fsck.gitmodulesSymlink": "ignore",
    "fsck.gitmodulesUpdate": "ignore",
    "fsck.gitmodulesUrl": "ignore",
    "fsck.gitattributesLarge": "ignore",
    "fsck.gitattributesLineLength": "ignore",
    "fsck.gitattributesBlob": "ignore",
    "fsck.gitattributesSymlink": "ignore",
    "fsck.gitignoreSymlink": "ignore",
    "fsck.mailmapSymlink": "ignore",
}


def prepare(state_dir: Path) -> Path:
    """Make the state folder if there is none, and check that it is ours; its real path.

    Raises:
        WorkspaceError: It belongs to somebody else, or cannot be made.
    """
    try:
        make_private(state_dir)
        owner = state_dir.stat().st_uid
    except OSError as error:
        raise WorkspaceError(
            f"the state folder {str(state_dir)!r} cannot be made: {error.strerror}", path=str(state_dir)
        ) from error
    if owner != os.geteuid():
        raise WorkspaceError(
            f"the state folder {str(state_dir)!r} belongs to user {owner}, not to you (user {os.geteuid()});"
            " choose another with RAWKO_STATE_DIR, or change its owner",
            path=str(state_dir),
        )
    return state_dir.resolve()


def store_folder(state_dir: Path) -> Path:
    """Where the private repository of a state folder is, if there is one."""
    return state_dir / _STORE


def open_repository(state_dir: Path) -> pygit2.Repository:
    """The private repository of a prepared state folder, made if there is none.

    Raises:
        WorkspaceError: It is of a newer format, damaged, or cannot be made.
    """
    folder = store_folder(state_dir)
    mark = folder / "rawko-format"
    with FileLock(state_dir / "store.lock").alone():
        try:
            _read_no_settings_of_users()
            if not mark.exists():
                _make(folder, mark)
            found = mark.read_text().strip()
            if found != FORMAT:
                raise WorkspaceError(
                    f"the snapshot store {str(folder)!r} has format {found!r}; this rawko reads format {FORMAT!r}:"
                    " use the version of rawko that wrote it",
                    path=str(folder),
                )
            return pygit2.Repository(str(folder))
        except (pygit2.GitError, OSError, ValueError, KeyError) as error:
            raise WorkspaceError(
                f"the snapshot store {str(folder)!r} cannot be opened: {reason_of(error)}", path=str(folder)
            ) from error


def _read_no_settings_of_users() -> None:
    """Repositories that are opened from here on do not read the settings of user and system: a defect in these, or a
    file that cannot be read, must not stop anything, and nothing in them is for a private store."""
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = os.devnull


def reopened(repository: pygit2.Repository) -> pygit2.Repository:
    """A fresh view of a repository, which knows nothing of objects that were removed meanwhile."""
    return pygit2.Repository(repository.path)


def cleanings(repository: pygit2.Repository) -> int:
    """How often the store was cleaned. What was seen of its objects before a cleaning need not be there any more."""
    try:
        return os.stat(repository.path + _CLEANINGS).st_size  # noqa: PTH116 - once per capture
    except FileNotFoundError:
        return 0


def mark_cleaned(repository: pygit2.Repository) -> None:
    """Count a cleaning, by one byte."""
    with Path(repository.path + _CLEANINGS).open("ab") as file:
        file.write(b".")


def _make(folder: Path, mark: Path) -> None:
    # The mark comes last: a store that a crash left half made is made again.
    # What is private in the workspace is private here, however open the state folder is.
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    repository = pygit2.init_repository(str(folder), bare=True)
    for key, value in _SETTINGS.items():
        repository.config[key] = value
    mark.write_text(FORMAT + "\n")
    for path in (folder, *folder.rglob("*")):
        narrow(path, 0o700)
