"""Read access to the snapshot store of a state folder, without disturbing running runs.

While it is read, the store is locked against a cleaning. Writing a snapshot into another folder and starting the
history of a forked run are here, too, since both leave other runs unchanged. `store` captures and restores.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import FileChange, Snapshot
from rawko.workspace.capture.mirror import File, Folder, Mirror
from rawko.workspace.modes import Modes
from rawko.workspace.names import check_run, to_text
from rawko.workspace.owners import Owners
from rawko.workspace.repository import diff
from rawko.workspace.repository.history import History, Link, link_of, newest, read_commit, snapshot_of
from rawko.workspace.repository.locks import FileLock
from rawko.workspace.repository.objects import MODE_FOLDER, Objects
from rawko.workspace.repository.repository import open_repository, prepare, store_folder
from rawko.workspace.restore.attributes import Attributes
from rawko.workspace.restore.fill import fill
from rawko.workspace.restore.plan import plan


class Archive:
    """The snapshots of all runs of a state folder.

    Args:
        state_dir: As `SnapshotStore.open` takes it.

    Raises:
        WorkspaceError: The store does not exist or cannot be opened.
    """

    def __init__(self, state_dir: str | os.PathLike[str]) -> None:
        self._state = Path(state_dir)
        if not store_folder(self._state).is_dir():
            raise WorkspaceError(f"there are no snapshots in {str(state_dir)!r}", path=str(state_dir))
        self._repository = open_repository(prepare(self._state))
        self._objects = Objects(self._repository)
        self._lock = FileLock(self._state / "store.lock")

    def close(self) -> None:
        """Close the repository."""
        self._repository.free()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------ snapshots

    def snapshots(self, run: str) -> list[Snapshot]:
        """All snapshots of a run, oldest first; empty for a run without any.

        Raises:
            WorkspaceError: A snapshot is missing from the store.
        """
        with self._held():
            return list(self._history(run))[::-1]

    def chain(self, run: str, known: str | None) -> tuple[Link, ...]:
        """Snapshots of a run with their journal rows, oldest first: from the commit `known` on, or all.

        Raises:
            WorkspaceError: A snapshot is missing from the store.
        """
        with self._held():
            return newest(self._links(run), known)

    def last(self, run: str) -> Snapshot | None:
        """The latest snapshot of a run; None for a run without any."""
        with self._held():
            return next(self._history(run), None)

    def snapshot(self, commit: str) -> Snapshot:
        """A snapshot by its whole id.

        Raises:
            WorkspaceError: The snapshot is not in the store.
        """
        with self._held():
            return snapshot_of(self._commit(commit))

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """Paths that differ between two trees (or snapshots' commits), sorted by path."""
        with self._held():
            return diff.changes(self._repository, self._objects, before, after)

    def diff(self, before: str, after: str) -> str:
        """Unified diff, as git prints it; bytes that are not UTF-8 appear as `\\xNN`."""
        with self._held():
            return diff.unified(self._repository, self._objects, before, after).decode("utf-8", "backslashreplace")

    def count(self, snapshot: Snapshot) -> int:
        """The number of files and links in a snapshot.

        Raises:
            WorkspaceError: A part of it is missing.
        """
        with self._held():
            try:
                return sum(1 for _ in Mirror.load(self._objects, bytes.fromhex(snapshot.tree)))
            except KeyError as error:
                raise WorkspaceError(f"snapshot {snapshot.commit[:12]} is damaged: {error}") from error

    def missing(self, snapshot: Snapshot, *, without: Collection[bytes] = ()) -> list[str]:
        """Paths of a snapshot whose contents, or whose tree, are missing from the store; "." if the root tree is
        missing.

        Args:
            without: Files whose contents are not checked.
        """
        with self._held():
            found: list[bytes] = []
            files = dict(self._listed(bytes.fromhex(snapshot.tree), b"", found))
            needed = {path: oid for path, oid in files.items() if path not in without}
            damaged = self._objects.damaged(set(needed.values()))
            found += [path for path, oid in needed.items() if oid in damaged]
            return sorted(to_text(path) or "." for path in found)

    def _listed(self, tree: bytes, above: bytes, missing: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Paths and contents' ids of a tree's files; appends the paths of missing or damaged trees to `missing`."""
        try:
            entries = list(self._objects.read_tree(tree))
        except KeyError:
            missing.append(above)
            return
        for name, mode, oid in entries:
            path = above + b"/" + name if above else name
            if mode == MODE_FOLDER:
                yield from self._listed(oid, path, missing)
            else:
                yield path, oid

    # ------------------------------------------------------------ into other folders

    def files(self, snapshot: Snapshot) -> dict[bytes, File]:
        """The files and links of a snapshot by path; their contents are not checked.

        Raises:
            WorkspaceError: A tree is missing.
        """
        with self._held():
            try:
                return dict(Mirror.load(self._objects, bytes.fromhex(snapshot.tree)))
            except KeyError as error:
                raise WorkspaceError(f"snapshot {snapshot.commit[:12]} is damaged: {error}") from error

    def write_out(
        self, snapshot: Snapshot, folder: Path, *, without: Collection[bytes] = (), is_checked: bool = False
    ) -> None:
        """Write the files of a snapshot into an empty folder.

        Args:
            without: Paths that are left out.
            is_checked: `missing` has just returned no path, so the contents are not checked again.

        Raises:
            WorkspaceError: A part of the snapshot is missing (then nothing is written), or the folder cannot be
                written.
        """
        with self._held():
            steps = plan(
                self._objects, Folder(), bytes.fromhex(snapshot.tree), without=without, is_checked=is_checked
            ).steps
            modes = Modes(known=self._state.glob("*.modes"))
            owners = Owners(known=self._state.glob("*.owners"))
            fill(folder, steps, self._objects, Attributes(modes, owners))

    def begin(self, run: str, snapshot: Snapshot, label: str) -> Snapshot:
        """Start the history of a new run with the files of a snapshot; their contents are shared.

        Raises:
            WorkspaceError: The run has a history already, or the store cannot be written.
        """
        with self._held():
            history = History(self._repository, self._objects, check_run(run))
            if history.last is not None:
                raise WorkspaceError(f"run {run!r} has snapshots already; a fork needs a new name")
            return history.add(bytes.fromhex(snapshot.tree), label, snapshot.skipped)

    # ------------------------------------------------------------ reading

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self._lock.shared():
            yield

    def _history(self, run: str) -> Iterator[Snapshot]:
        return (link.snapshot for link in self._links(run))

    def _links(self, run: str) -> Iterator[Link]:
        name = f"refs/rawko/{check_run(run)}"
        try:
            if name not in self._repository.references:
                return
            commit: str | None = str(self._repository.references[name].target)
        except (pygit2.GitError, ValueError, KeyError) as error:
            raise WorkspaceError(f"{name} of the snapshot store is damaged: {error}") from error
        while commit is not None:
            found = self._commit(commit)
            yield link_of(found)
            commit = next((str(parent) for parent in found.parent_ids), None)

    def _commit(self, commit: str) -> pygit2.Commit:
        try:
            return read_commit(self._repository, self._objects, commit)
        except (pygit2.GitError, KeyError, ValueError) as error:
            raise WorkspaceError(f"snapshot {commit[:12]} is missing from the store, or damaged: {error}") from error
