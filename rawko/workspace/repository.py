"""The private bare repository of a state folder: opening it safely, and the chain of commits that is a run's history.

It is made and read through pygit2 alone, so that no GIT_* variable and no git program has a say. What a commit's tree
holds is `mirror`'s.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pygit2

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import Snapshot
from rawko.workspace.locks import FileLock
from rawko.workspace.names import to_text

FORMAT = "1"
_STORE = "snapshots.git"
_SETTINGS = {
    "gc.auto": "0",
    "core.autocrlf": "false",
    "core.logAllRefUpdates": "false",
    # The user's own settings are read too; these would change what a diff prints.
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
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
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


def open_repository(state_dir: Path) -> pygit2.Repository:
    """The private repository of a prepared state folder, made if there is none.

    Raises:
        WorkspaceError: It is of a newer format, damaged, or cannot be made.
    """
    folder = state_dir / _STORE
    mark = folder / "rawko-format"
    with FileLock(state_dir / "store.lock").alone():
        try:
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
        except (pygit2.GitError, OSError) as error:
            raise WorkspaceError(
                f"the snapshot store {str(folder)!r} cannot be opened: {error}", path=str(folder)
            ) from error


def _make(folder: Path, mark: Path) -> None:
    # The mark comes last: a store that a crash left half made is made again.
    # What is private in the workspace is private here, however open the state folder is.
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    repository = pygit2.init_repository(str(folder), bare=True)
    for key, value in _SETTINGS.items():
        repository.config[key] = value
    mark.write_text(FORMAT + "\n")


class History:
    """The snapshots of one run: a chain of commits under `refs/rawko/<run>`, so that no gc drops them (C-52)."""

    def __init__(self, repository: pygit2.Repository, run: str) -> None:
        self._repository = repository
        self._name = f"refs/rawko/{run}"
        self._drop_stale_lock()
        self._tip = self._read_tip()

    @property
    def last(self) -> Snapshot | None:
        """The latest snapshot; None for a new run."""
        return None if self._tip is None else _snapshot(self._tip)

    def add(self, tree: bytes, label: str, skipped: tuple[str, ...]) -> Snapshot:
        """Commit a tree as the next snapshot.

        Raises:
            WorkspaceError: The store cannot be written, or somebody else moved the reference.
        """
        who = pygit2.Signature("rawko", "rawko@localhost", int(time.time()), 0)
        parents = [] if self._tip is None else [self._tip.id]
        oid = pygit2.Oid(raw=tree)
        try:
            commit = self._repository.create_commit(self._name, who, who, _message(label, skipped), oid, parents)
        except (pygit2.GitError, OSError, ValueError) as error:
            raise WorkspaceError(f"the snapshot cannot be committed to {self._name}: {error}") from error
        self._tip = self._repository[commit].peel(pygit2.Commit)
        return _snapshot(self._tip)

    def __iter__(self) -> Iterator[Snapshot]:
        """All snapshots, newest first.

        Raises:
            WorkspaceError: An object is missing.
        """
        commit = self._tip
        while commit is not None:
            yield _snapshot(commit)
            try:
                commit = next(iter(commit.parents), None)
            except (pygit2.GitError, KeyError) as error:
                raise WorkspaceError(f"the history of {self._name} is damaged: {error}") from error

    def _read_tip(self) -> pygit2.Commit | None:
        try:
            if self._name not in self._repository.references:
                return None
            return self._repository.references[self._name].peel(pygit2.Commit)
        except (pygit2.GitError, KeyError) as error:
            raise WorkspaceError(f"{self._name} of the snapshot store is damaged: {error}") from error

    def _drop_stale_lock(self) -> None:
        # Whoever holds the run's lock is its only writer, so what lies here was left by a process that was killed; git
        # would wait for it for ever.
        Path(self._repository.path, self._name + ".lock").unlink(missing_ok=True)


def _message(label: str, skipped: tuple[str, ...]) -> str:
    """A subject for people, and the exact data as one JSON line (ASCII, so that any name survives)."""
    subject = " ".join(label.split()).encode("utf-8", "backslashreplace").decode().replace("\0", " ")
    return f"{subject or 'snapshot'}\n\n{json.dumps({'label': label, 'skipped': skipped})}\n"


def _snapshot(commit: pygit2.Commit) -> Snapshot:
    label, skipped = to_text(commit.raw_message), ()
    try:
        data = json.loads(commit.raw_message.splitlines()[-1])
        label, skipped = data["label"], tuple(data["skipped"])
    except (ValueError, LookupError, TypeError):
        pass  # Somebody else's commit: its message is the label.
    return Snapshot(tree=str(commit.tree_id), commit=str(commit.id), label=label, skipped=skipped)
