"""Packing the private store, and dropping what no run needs: the only thing that ever removes an object.

It holds the store alone, so no capture or restore is under way anywhere; what a store believes in between its
operations is committed, hence reachable. New packs are read back and flushed before anything is removed, and a process
that is killed meanwhile leaves nothing worse than a file that the next cleaning removes.

    a run grows      loose objects      packs
                     4 MiB              13 MB
    pack_if_many     0                  13 MB, 0.1 MB
    again            0                  13 MB, 0.1 MB, 0.1 MB   joined, since neither is twice the other: see `joining`
                     0                  13 MB, 0.15 MB

So a store never takes more than twice what it would if all of it were packed at once, and 4 MiB.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pygit2

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.integrity import Packs
from rawko.workspace.names import check_run
from rawko.workspace.repository.locks import FileLock
from rawko.workspace.repository.objects import Objects
from rawko.workspace.repository.reachable import objects_in, reachable
from rawko.workspace.repository.repository import mark_cleaned, open_repository, prepare, reopened

_HEX = frozenset("0123456789abcdef")
_NEW = "rawko-new"
_LOOSE_BYTES = 4 * 1024 * 1024
"""What may lie loose in any case, in whole blocks."""
_LOOSE_SHARE = 3
"""And a third of what the packs take: these take up to 1.5 times what one pack would."""
_AUTO_PER_FOLDER = 27
"""As git's gc.auto: ids are even, so 27 objects in one of 256 folders mean about 6,900 in all."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a cleaning did.

    Attributes:
        packed: Objects that lay one by one and are in a pack now.
        dropped: Objects that no run needed.
        bytes_before: What the objects took on disk, in whole blocks.
        bytes_after: The same afterwards.
    """

    packed: int
    dropped: int
    bytes_before: int
    bytes_after: int


def clean(state_dir: str | os.PathLike[str], *, forget: Iterable[str] = ()) -> Cleaned:
    """Pack the snapshots of all runs of a state folder, and drop what none of them needs.

    Args:
        state_dir: As `SnapshotStore.open` takes it. Runs may be open; they wait.
        forget: Runs whose snapshots are given up first. A run that is not there is no error.

    Raises:
        WorkspaceError: A run to forget is open, or was killed while its files were being restored; or the store is
            damaged or cannot be written. No object was removed.
    """
    state = prepare(Path(state_dir))
    runs = [check_run(run) for run in forget]
    repository = open_repository(state)
    with ExitStack() as held:
        held.callback(repository.free)
        for run in runs:
            _hold(state, run, held)
        with FileLock(state / "store.lock").alone():
            for run in runs:
                _forget(repository, f"refs/rawko/{run}")
                _forget(repository, f"refs/rawko-sent/{run}")
            return _clean(repository)


def clean_if_many(state_dir: Path, repository: pygit2.Repository) -> None:
    """Clean a prepared state folder if many objects lie one by one and nobody is at work in it just now.

    It is a kindness to the disk: whatever stands in its way is left for the next time.
    """
    try:
        if len(os.listdir(Path(repository.path, "objects", "17"))) < _AUTO_PER_FOLDER:  # noqa: PTH208 - only counted
            return
        with FileLock(state_dir / "store.lock").alone_or_not() as is_held:
            if is_held:
                _clean(repository)
    except (OSError, WorkspaceError):
        pass


def pack_if_many(state_dir: Path, repository: pygit2.Repository) -> bool:
    """Pack what lies loose if it is much and nobody is at work in the store; whether that was done.

    Nothing is searched for and nothing dropped: it costs what the loose objects cost, and now and then what small packs
    cost that are joined. A run calls it as it grows.
    """
    try:
        if not _is_heavy(Path(repository.path, "objects")):
            return False
        with FileLock(state_dir / "store.lock").alone_or_not() as is_held:
            if not is_held:
                return False
            fresh = reopened(repository)
            try:
                _Cleaner(fresh).pack_loose()
            finally:
                fresh.free()
        return True
    except (OSError, WorkspaceError, pygit2.GitError):
        return False


def _is_heavy(objects: Path) -> bool:
    """Whether loose objects take more room than may lie loose."""
    packed, loose = 0, 0
    for folder in os.scandir(objects):
        if folder.name == "pack" or (len(folder.name) == 2 and _HEX.issuperset(folder.name)):
            with os.scandir(folder) as listing:
                size = sum(one.stat(follow_symlinks=False).st_blocks * 512 for one in listing)
            packed, loose = (packed + size, loose) if folder.name == "pack" else (packed, loose + size)
    return loose > max(_LOOSE_BYTES, packed // _LOOSE_SHARE)


def _clean(repository: pygit2.Repository) -> Cleaned:
    try:
        fresh = reopened(repository)
    except pygit2.GitError as error:
        raise WorkspaceError(f"the snapshot store is damaged: {error}; nothing was removed") from error
    try:
        return _Cleaner(fresh).clean()
    finally:
        fresh.free()


def _hold(state: Path, run: str, held: ExitStack) -> None:
    lock = FileLock(state / f"{run}.lock")
    lock.acquire(f"run {run!r} of the snapshot store {str(state)!r}")
    held.callback(lock.release)
    if (state / f"{run}.restore").exists():
        raise WorkspaceError(
            f"run {run!r} was stopped while its files were being restored: resume it once, so that the restore is"
            " finished, before its snapshots are given up",
            path=str(state / f"{run}.restore"),
        )


def _forget(repository: pygit2.Repository, name: str) -> None:
    try:
        if name in repository.references:
            repository.references.delete(name)
    except (pygit2.GitError, OSError) as error:
        raise WorkspaceError(f"{name} of the snapshot store cannot be removed: {error}") from error


class _Cleaner:
    """One cleaning of one repository, which nobody else uses meanwhile."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self._repository = repository
        self._folder = Path(repository.path, "objects")
        self._packs = self._folder / "pack"

    def clean(self) -> Cleaned:
        try:
            before = _bytes_in(self._folder)
            self._drop_rests()
            needed = reachable(self._repository)
            loose, packed = set(self._loose()), self._packed()
            is_whole = not packed <= needed
            todo = needed if is_whole else (loose & needed) - packed
            kept = self._pack(todo) if todo else None
            # From here on nobody else may believe in what it has seen of the store.
            mark_cleaned(self._repository)
            if is_whole:
                self._drop_packs(self._names() - {kept})
            for oid in loose:
                self._file(oid).unlink(missing_ok=True)
            self._join()
            return Cleaned(
                packed=len(loose & needed),
                dropped=len((loose | packed) - needed),
                bytes_before=before,
                bytes_after=_bytes_in(self._folder),
            )
        except (pygit2.GitError, KeyError, ValueError) as error:
            raise WorkspaceError(f"the snapshot store is damaged: {error}; nothing was removed") from error
        except OSError as error:
            raise WorkspaceError(f"the snapshot store cannot be cleaned: {error}", path=str(self._folder)) from error

    def pack_loose(self) -> None:
        """Put all loose objects that are whole into one pack more, and join packs of about the same size."""
        try:
            self._drop_rests()
            objects = Objects(self._repository)
            loose = []
            for oid in self._loose():
                try:
                    objects.check(oid)
                    loose.append(oid)
                except KeyError:  # damaged: it stays where it is, and is told when it is needed
                    continue
            if loose:
                self._pack(loose)
                mark_cleaned(self._repository)
                for oid in loose:
                    self._file(oid).unlink(missing_ok=True)
                self._join()
        except (pygit2.GitError, KeyError, ValueError) as error:
            raise WorkspaceError(f"the snapshot store is damaged: {error}; nothing was removed") from error

    def _names(self) -> set[str]:
        """The packs, without ending."""
        return {file.stem for file in self._packs.glob("*.idx")}

    def _join(self) -> None:
        """Make one pack of those that are too many for their sizes; see `joining`.

        The new one is in place before the old ones go: who is killed in between leaves objects that lie twice, and the
        next joining, which finds packs of about the same size, makes one of them again.
        """
        todo = joining({name: (self._packs / f"{name}.pack").stat().st_size for name in self._names()})
        if not todo:
            return
        checked = Packs(self._folder)
        checked.check()
        kept = self._pack(objects_in(self._packs / f"{name}.idx" for name in todo))
        mark_cleaned(self._repository)
        self._drop_packs(todo - {kept})

    def _drop_rests(self) -> None:
        """Remove what killed processes left: half-written objects, and packs without an index."""
        shutil.rmtree(self._folder / _NEW, ignore_errors=True)
        for file in self._folder.glob("**/tmp_obj*"):
            file.unlink()
        for file in self._packs.glob("*.pack"):
            if not file.with_suffix(".idx").exists():
                file.unlink()

    def _loose(self) -> Iterator[bytes]:
        for folder in self._folder.iterdir():
            if len(folder.name) == 2 and _HEX.issuperset(folder.name):
                for name in os.listdir(folder):  # noqa: PTH208 - thousands of names, and no more than names
                    if len(name) == 38 and _HEX.issuperset(name):
                        yield bytes.fromhex(folder.name + name)

    def _file(self, oid: bytes) -> Path:
        return self._folder / oid.hex()[:2] / oid.hex()[2:]

    def _packed(self) -> set[bytes]:
        return {bytes(oid.raw) for oid in _packs_of(self._folder)}

    def _pack(self, oids: Collection[bytes]) -> str:
        """Write a pack, read every object of it back, and put it in place; its name without ending."""
        new = self._folder / _NEW / "pack"
        new.mkdir(parents=True)
        builder = pygit2.PackBuilder(self._repository)
        for oid in oids:
            builder.add(pygit2.Oid(raw=oid))
        builder.write(str(new))
        written = _packs_of(new.parent)
        for oid in oids:
            written.read(pygit2.Oid(raw=oid))  # Its hash is checked.
        self._packs.mkdir(exist_ok=True)
        found = next(new.glob("*.idx"))
        for file in (found.with_suffix(".pack"), found):  # Whoever sees the index finds the pack.
            _flush(file)
            file.replace(self._packs / file.name)
        _flush(self._packs)
        shutil.rmtree(new.parent)
        return found.stem

    def _drop_packs(self, names: Iterable[str | None]) -> None:
        for name in names:
            (self._packs / f"{name}.idx").unlink()  # first: a pack without one is a rest that goes
            for file in self._packs.glob(f"{name}.*"):
                file.unlink()


def joining(sizes: Mapping[str, int]) -> set[str]:
    """The packs that are to be made one, so that each of the rest is at least twice as large as all smaller ones
    together (as `git repack --geometric` chooses them).

    13, 4, 1     stay: 13 is more than 2 * (4 + 1), and 4 more than 2 * 1
    13, 4, 1, 1  the last two become one, of 2 at most: 13, 4, 2
    16, 4, 2, 1  4 is less than 2 * (2 + 1), so the last three become one: 16, 7

    All but the largest then take half of it at most, and the largest no more than one pack of everything would.
    """
    rising = sorted(sizes, key=lambda name: (sizes[name], name))
    total, joined = 0, 0
    for number, name in enumerate(rising):
        if sizes[name] < 2 * total:
            joined = number + 1
        total += sizes[name]
    return set(rising[:joined])


def _packs_of(objects: Path) -> pygit2.Odb:
    odb = pygit2.Odb()
    odb.add_backend(pygit2.OdbBackendPack(str(objects)), 1)
    return odb


def _bytes_in(folder: Path) -> int:
    sizes = (os.lstat(os.path.join(above, name)) for above, _, names in os.walk(folder) for name in names)  # noqa: PTH118
    return sum(seen.st_blocks * 512 for seen in sizes)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
