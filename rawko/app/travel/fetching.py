"""Makes a run's workspace and state folder on this machine, from the data in a store of packs; all of it or none.

Both folders are filled beside their places, and then renamed, the state folder last: if a process is killed in between,
the next one starts again. Afterwards the records have the paths of this machine.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pygit2

from rawko.app.records.json_files import read_file, write_file
from rawko.app.records.record import REPORT_FILE, RUN_FILE, runs_folder
from rawko.config.places import own_state_dir
from rawko.processes.private import FILE, make_private
from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import Snapshot
from rawko.workspace import SnapshotStore
from rawko.workspace.packs.packing import file_name, put_into
from rawko.workspace.packs.port import Pack, PackError, PackStore
from rawko.workspace.packs.sending import SENT, Head, read_head
from rawko.workspace.packs.state_files import is_ours
from rawko.workspace.repository.archive import Archive
from rawko.workspace.repository.history import read_commit, snapshot_of
from rawko.workspace.repository.objects import MODE_FILE, MODE_FOLDER, Objects
from rawko.workspace.repository.reachable import reachable
from rawko.workspace.repository.repository import open_repository, prepare, store_folder

_ARRIVAL: Final = "arrival"
"""Temporary run id under which the files are restored into the workspace."""
_TRIES: Final = 5


def is_here(run: str, workspace: Path, state: Path, packs: PackStore) -> bool:
    """Whether these folders hold the run as far as the store has it, or further; also where the store has nothing.

    Raises:
        PackError: The store cannot be asked.
    """
    found = packs.packs(run)
    is_there = workspace.is_dir() and (runs_folder(state) / run / RUN_FILE).is_file()
    if not found:
        return is_there
    if not is_there or not (state / "snapshots").is_dir():
        return False
    try:
        repository = open_repository(prepare(state / "snapshots"))
    except WorkspaceError:
        return False
    try:
        return Objects(repository).has(bytes.fromhex(found[-1].head))
    finally:
        repository.free()


def fetch(
    run: str,
    packs: PackStore,
    workspace: Path,
    environ: Mapping[str, str],
    make: Callable[[Path], object] = make_private,
) -> Path:
    """Make the workspace and the state folder of a run; folders that exist already are replaced.

    Args:
        workspace: Path for the workspace.
        environ: Environment that determines the place of state folders.
        make: Makes the workspace folder, with content that the packs leave out: a clone of the user's repository.

    Returns:
        The state folder.

    Raises:
        WorkspaceError: The store has no or incomplete data of the run, or the disk cannot be written. Nothing was made.
    """
    state = own_state_dir(workspace, environ)
    new_state, new_workspace = _beside(state), _beside(workspace)
    try:
        make_private(state.parent)
        make_private(workspace.parent)
        head = _take(run, packs, new_state, state)
        _write_state(new_state, head)
        _drop_half_made(state, workspace)
        make(new_workspace)
        _fill(new_workspace, new_state / "snapshots", head.runs[run])
        _fill_lanes(run, new_state, head, workspace)
        _place(new_state, {head.workspace: str(workspace), head.state: str(state)})
        _check_record(run, new_state, workspace)
        for new, place in ((new_workspace, workspace), (new_state, state)):
            new.rename(place)
    except OSError as error:
        why = error.strerror or error
        raise WorkspaceError(f"run {run!r} cannot be fetched: {why}", path=error.filename) from error
    finally:
        for new in (new_state, new_workspace):
            shutil.rmtree(new, ignore_errors=True)
    return state


def _beside(place: Path) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}")


def _drop_half_made(state: Path, workspace: Path) -> None:
    """Remove folders that an earlier fetch has left: they are older than the store's data, or incomplete."""
    for place in (state, workspace):  # the state folder first: without it, nothing here counts as the run
        if place.exists():
            old = _beside(place)
            place.rename(old)
            shutil.rmtree(old, ignore_errors=True)


# ---------------------------------------------------------------- packs


def _take(run: str, packs: PackStore, state: Path, old: Path) -> Head:
    """Put the packs into a new repository, and set the references of the runs.

    Args:
        old: The state folder of an earlier fetch, if there is one: its packs are not fetched again.
    """
    repository = open_repository(prepare(state / "snapshots"))
    try:
        found = _put_all(run, packs, repository, store_folder(old / "snapshots") / "objects" / "pack")
        objects = Objects(repository)
        head = read_head(repository, objects, found[-1].head)
        if run not in head.runs:
            raise WorkspaceError(f"the store of packs has no snapshot of run {run!r}")
        for name, commit in head.runs.items():
            read_commit(repository, objects, commit)
            repository.references.create(f"refs/rawko/{name}", pygit2.Oid(hex=commit), force=True)
        repository.references.create(f"{SENT}{run}", pygit2.Oid(hex=found[-1].head), force=True)
        reachable(repository)  # fails where an object is missing
        return head
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise WorkspaceError(f"what the store of packs has of run {run!r} is not whole: {error}") from error
    finally:
        repository.free()


def _put_all(run: str, packs: PackStore, repository: pygit2.Repository, old: Path) -> list[Pack]:
    """Fetch a consistent set of packs: if some are merged meanwhile, the list is read again."""
    for _ in range(_TRIES):
        found = list(packs.packs(run))
        if not found:
            raise WorkspaceError(f"the store of packs has nothing of run {run!r}")
        try:
            for one in found:
                name = file_name(run, one)
                if not _linked(old, Path(repository.path, "objects", "pack"), name):
                    what = f"pack {one.epoch}/{one.number} of run {run!r}"
                    put_into(repository, name, packs.get(run, one), what)
            return found
        except PackError as error:
            if not error.is_retryable:
                raise
    raise WorkspaceError(f"the packs of run {run!r} change all the time; try again")


def _linked(old: Path, new: Path, name: str) -> bool:
    """Whether the files of a pack are here now, by a hard link from the earlier fetch if it has them."""
    if not (old / f"{name}.idx").is_file():
        return (new / f"{name}.idx").is_file()
    new.mkdir(exist_ok=True)
    for ending in (".pack", ".idx"):
        with suppress(FileExistsError):
            (new / f"{name}{ending}").hardlink_to(old / f"{name}{ending}")
    return True


def _write_state(state: Path, head: Head) -> None:
    repository = open_repository(state / "snapshots")
    try:
        _write_tree(Objects(repository), bytes.fromhex(head.tree), os.fsencode(state))
    except KeyError as error:
        raise WorkspaceError(f"the files of the state folder are not whole: {error}") from error
    finally:
        repository.free()


def _write_tree(objects: Objects, tree: bytes, folder: bytes, way: tuple[bytes, ...] = ()) -> None:
    for name, mode, oid in objects.read_tree(tree):
        is_no_name = name in (b"", b".", b"..") or b"/" in name or mode not in (MODE_FILE, MODE_FOLDER)
        if is_no_name or not is_ours(way, name, is_folder=mode == MODE_FOLDER):
            raise WorkspaceError(f"the state folder in the packs holds {name!r}, which is no file of ours")
        path = folder + b"/" + name
        if mode == MODE_FOLDER:
            make_private(Path(os.fsdecode(path)))
            _write_tree(objects, oid, path, (*way, name))
        else:
            flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags, FILE), "wb") as file:
                file.write(objects.read(oid))


# ---------------------------------------------------------------- the files


def _fill(workspace: Path, snapshots: Path, commit: str) -> None:
    """Restore a folder to a snapshot; files that snapshots leave out stay as they are."""
    with SnapshotStore.open(workspace, snapshots, run=_ARRIVAL) as store:
        store.restore(_snapshot(snapshots, commit), allow_skipped=True)
    repository = open_repository(snapshots)
    repository.references.delete(f"refs/rawko/{_ARRIVAL}")
    repository.free()
    for left in (*snapshots.glob(f"{_ARRIVAL}.*"), *snapshots.glob("*.index")):
        left.unlink()


def _snapshot(snapshots: Path, commit: str) -> Snapshot:
    repository = open_repository(snapshots)
    try:
        return snapshot_of(read_commit(repository, Objects(repository), commit))
    finally:
        repository.free()


def _fill_lanes(run: str, state: Path, head: Head, workspace: Path) -> None:
    """Restore the folders of lanes that have not ended, beside the workspace."""
    lanes = f"{head.workspace}.lanes/"
    own = workspace.with_name(f"{workspace.name}.lanes")
    with Archive(state / "snapshots") as archive:
        for name in head.runs:
            folder = runs_folder(state) / name
            if name == run or (folder / REPORT_FILE).exists() or not (folder / RUN_FILE).is_file():
                continue
            was = str(read_file(folder / RUN_FILE)["settings"].get("workspace", ""))
            last = archive.last(name)
            if was.startswith(lanes) and last is not None:
                place = own / _below(was.removeprefix(lanes), name)
                shutil.rmtree(place, ignore_errors=True)
                make_private(place)
                archive.write_out(last, place)


def _below(path: str, run: str) -> str:
    """The path of a lane's folder below the folder of lanes: the records come from the store, and so from others.

    Raises:
        WorkspaceError: It is absolute, leads out, or is the folder of lanes itself.
    """
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise WorkspaceError(f"the record of run {run!r} in the packs names {path!r}, which is no folder of a lane")
    return path


# ---------------------------------------------------------------- paths


def _place(state: Path, moved: Mapping[str, str]) -> None:
    """Write this machine's paths into the records of the runs."""
    for file in _records(state):
        data = read_file(file)
        placed = _placed(data, moved)
        if placed != data:
            write_file(file, placed)


def _check_record(run: str, state: Path, workspace: Path) -> None:
    """Refuse a record that names another folder of this machine as the run's workspace: commands would write there.

    Raises:
        WorkspaceError: It does.
    """
    file = runs_folder(state) / run / RUN_FILE
    named = read_file(file)["settings"].get("workspace") if file.is_file() else str(workspace)
    if named != str(workspace):
        raise WorkspaceError(
            f"the record of run {run!r} in the packs names the workspace {named!r}, which is not its own"
        )


def _records(state: Path) -> Iterator[Path]:
    for path in sorted(runs_folder(state).rglob("*.json")):
        if path.is_file() and not path.is_symlink():
            yield path


def _placed(value: Any, moved: Mapping[str, str]) -> Any:
    """JSON with moved paths replaced: in each text that equals one, or lies below one or its `PATH.lanes`.

    moved {"/a/w": "/b/w"}:    "/a/w/x" -> "/b/w/x"    "/a/w.lanes/r" -> "/b/w.lanes/r"    "/a/words" stays
    """
    match value:
        case dict():
            return {key: _placed(one, moved) for key, one in value.items()}
        case list():
            return [_placed(one, moved) for one in value]
        case str():
            for was, now in moved.items():
                if value == was or value.startswith((f"{was}/", f"{was}.lanes/")):
                    return now + value.removeprefix(was)
    return value
