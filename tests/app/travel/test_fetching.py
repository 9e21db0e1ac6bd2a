"""A run's files by way of a store of packs: the same bits elsewhere, whatever was sent, joined, damaged or left."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path

import pygit2
import pytest

from rawko.app.travel.fetching import fetch, is_here
from rawko.config.places import own_state_dir
from rawko.runtime.ports import WorkspaceError
from rawko.workspace import SnapshotStore, clean
from rawko.workspace.packs.folder_store import FolderPacks
from rawko.workspace.packs.packing import pack_of
from rawko.workspace.packs.port import Pack, PackError
from rawko.workspace.packs.reach import new_since
from rawko.workspace.repository.archive import Archive
from rawko.workspace.repository.objects import MODE_FILE, MODE_FOLDER, Objects
from rawko.workspace.repository.repository import open_repository

RUN = "20261123-100000-abcdef0"


class Place:
    """One machine's folders."""

    def __init__(self, base: Path, packs: FolderPacks) -> None:
        self.packs = packs
        self.workspace = base / "workspaces" / RUN
        self.environ = {"RAWKO_STATE_DIR": str(base / "state")}
        self.state = own_state_dir(self.workspace, self.environ)

    def begin(self) -> SnapshotStore:
        self.workspace.mkdir(parents=True)
        (self.state / "runs" / RUN).mkdir(parents=True)
        record = {"format": 1, "run": RUN, "settings": {"workspace": str(self.workspace), "tmp": f"{self.state}/tmp"}}
        (self.state / "runs" / RUN / "run.json").write_text(json.dumps({**record, "task": f"see {self.workspace}"}))
        return self.open()

    def open(self) -> SnapshotStore:
        return SnapshotStore.open(self.workspace, self.state / "snapshots", run=RUN, packs=self.packs)

    def fetch(self) -> None:
        fetch(RUN, self.packs, self.workspace, self.environ)

    def has_it(self) -> bool:
        return is_here(RUN, self.workspace, self.state, self.packs)

    def files(self) -> Mapping[str, tuple[int, bytes]]:
        return {
            str(path.relative_to(self.workspace)): (path.lstat().st_mode, _content(path))
            for path in sorted(self.workspace.rglob("*"))
            if path.is_symlink() or path.is_file()
        }

    @property
    def last(self) -> str:
        with Archive(self.state / "snapshots") as archive:
            return archive.snapshots(RUN)[-1].commit

    def trees(self) -> list[str]:
        with Archive(self.state / "snapshots") as archive:
            return [snapshot.tree for snapshot in archive.snapshots(RUN)]


def _content(path: Path) -> bytes:
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Place, Place]:
    packs = FolderPacks(tmp_path / "packs")
    return Place(tmp_path / "one", packs), Place(tmp_path / "two", packs)


def _edit(folder: Path, chance: random.Random, number: int) -> None:
    """Make, change, move, link, empty and remove files at random."""
    name = folder / chance.choice(("a", "b/c", "b/d/e", "ü f", "x" * 100))
    name.parent.mkdir(parents=True, exist_ok=True)
    match chance.randrange(5):
        case 0 if name.exists() or name.is_symlink():
            name.unlink()
        case 1 if not name.exists() and not name.is_symlink():
            name.symlink_to("../a")
        case 2 if name.is_file() and not name.is_symlink():
            name.chmod(chance.choice((0o644, 0o755)))
        case _:
            name.unlink(missing_ok=True)
            name.write_bytes(chance.randbytes(chance.choice((0, 10, 5_000))) + b"%d" % number)


@pytest.mark.parametrize("seed", range(3))
def test_every_snapshot_is_the_same_bits_elsewhere(places: tuple[Place, Place], seed: int) -> None:
    """Also when others have cleaned the store in between, the run was opened anew, and packs were put together."""
    one, two = places
    chance, store = random.Random(seed), one.begin()
    for number in range(70):
        _edit(one.workspace, chance, number)
        (one.state / "outputs" / RUN).mkdir(parents=True, exist_ok=True)
        (one.state / "outputs" / RUN / f"{number:06}.log").write_bytes(b"%d" % number)
        store.capture(label=str(number))
        store.send()
        if number % 23 == 5:
            store.close()
            clean(one.state / "snapshots")
            store = one.open()
    store.close()
    assert len(one.packs.packs(RUN)) < 35, "they are put together"
    two.fetch()
    assert two.files() == one.files()
    assert two.trees() == one.trees()
    outputs = two.state / "outputs" / RUN
    assert {path.name: path.read_bytes() for path in outputs.iterdir()} == {
        f"{number:06}.log": b"%d" % number for number in range(70)
    }
    assert two.has_it()
    with two.open() as there:
        assert there.capture().tree == one.trees()[-1], "nothing has changed on the way"


def test_paths_are_those_of_the_new_place_in_records_alone(places: tuple[Place, Place]) -> None:
    one, two = places
    with one.begin() as store:
        store.capture()
        store.send()
    two.fetch()
    record = json.loads((two.state / "runs" / RUN / "run.json").read_text())
    assert record["settings"] == {"workspace": str(two.workspace), "tmp": f"{two.state}/tmp"}
    assert record["task"] == f"see {one.workspace}", "what people and models wrote stays as it is"
    assert (two.state / "runs" / RUN / "run.json").stat().st_mode & 0o777 == 0o600


def test_it_goes_back_and_forth(places: tuple[Place, Place]) -> None:
    one, two = places
    with one.begin() as store:
        (one.workspace / "a").write_text("1")
        store.capture()
        store.send()
    for here, there, text in ((two, one, "2"), (one, two, "3"), (two, one, "4")):
        assert not here.has_it()
        here.fetch()
        with here.open() as store:
            (here.workspace / "a").write_text(text)
            store.capture()
            store.send()
        assert here.has_it()
        assert not there.has_it()
    one.fetch()
    assert (one.workspace / "a").read_text() == "4"
    assert len(one.trees()) == 4


def test_a_process_that_was_replaced_sends_nothing_more(places: tuple[Place, Place]) -> None:
    one, two = places
    store = one.begin()
    store.capture()
    store.send()
    two.fetch()
    with two.open() as other:
        (two.workspace / "b").write_text("of the second")
        other.capture()
        other.send()
        (one.workspace / "a").write_text("of the first, which was frozen")
        store.capture()
        with pytest.raises(PackError, match="another process sends the snapshots"):
            store.send()
    store.close()
    one.fetch()
    assert set(one.files()) == {"b"}


@pytest.mark.parametrize("damage", ["cut", "bit", "gone"])
def test_a_damaged_pack_is_told_and_nothing_is_made(places: tuple[Place, Place], damage: str, tmp_path: Path) -> None:
    one, two = places
    with one.begin() as store:
        for number in range(3):
            (one.workspace / "a").write_text(str(number))
            store.capture()
            store.send()
    pack = sorted((tmp_path / "packs" / RUN).glob("*.pack"))[1]
    data = bytearray(pack.read_bytes())
    if damage == "gone":
        pack.unlink()
    else:
        data[len(data) // 2] ^= 1
        pack.write_bytes(data[:-40] if damage == "cut" else data)
    with pytest.raises(WorkspaceError, match=r"damaged|not whole"):
        two.fetch()
    assert not two.workspace.exists()
    assert not two.state.exists()
    assert not list(two.workspace.parent.iterdir())


def test_what_was_left_half_made_is_made_anew(places: tuple[Place, Place]) -> None:
    one, two = places
    with one.begin() as store:
        (one.workspace / "a").write_text("1")
        store.capture()
        store.send()
    two.workspace.mkdir(parents=True)
    (two.workspace / "rest").write_text("of a fetch that was killed")
    assert not two.has_it()
    two.fetch()
    assert set(two.files()) == {"a"}


def test_a_run_of_which_nothing_was_sent_is_said(places: tuple[Place, Place]) -> None:
    with pytest.raises(WorkspaceError, match="has nothing of run"):
        places[1].fetch()


def test_a_store_that_is_away_is_waited_for_and_nothing_is_lost(places: tuple[Place, Place], tmp_path: Path) -> None:
    one, two = places
    store = one.begin()
    store.capture()
    store.send()
    (tmp_path / "packs").rename(tmp_path / "away")
    (tmp_path / "packs").write_text("no folder")
    (one.workspace / "a").write_text("1")
    store.capture()
    monkey = pytest.MonkeyPatch()
    monkey.setattr("rawko.workspace.packs.sending._TRIED_S", 0.2)
    with pytest.raises(PackError, match="cannot be used"):
        store.send()
    monkey.undo()
    (tmp_path / "packs").unlink()
    (tmp_path / "away").rename(tmp_path / "packs")
    store.send()
    store.close()
    two.fetch()
    assert set(two.files()) == {"a"}


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "snapshots/snapshots.git/config",
        "snapshots/config",
        "Snapshots/snapshots.git/objects/info/alternates",
        "a/journal.db",
        "elsewhere",
    ],
)
def test_packs_cannot_write_outside_of_their_folders(places: tuple[Place, Place], path: str) -> None:
    """Who may write to the store is trusted with runs, not with the machines of those who look at one."""
    one, two = places
    with one.begin() as store:
        store.capture()
        store.send()
    repository = open_repository(one.state / "snapshots")
    objects = Objects(repository)
    *folders, name = path.encode().split(b"/")
    outside = objects.write_tree([(name, MODE_FILE, objects.write_blob(b"!"))])
    for folder in reversed(folders):
        outside = objects.write_tree([(folder, MODE_FOLDER, outside)])
    told = json.dumps({"runs": {RUN: one.last}, "workspace": str(one.workspace), "state": str(one.state)})
    who = "rawko <rawko@localhost> 1 +0000"
    text = f"tree {outside.hex()}\nparent {one.last}\nauthor {who}\ncommitter {who}\n\nhead\n\n{told}\n"
    head = objects.write_commit(text.encode()).hex()
    oids = new_since(objects, [one.last, head], ())
    repository.free()
    data = pack_of(repository, objects, oids)
    one.packs.put(RUN, Pack(one.packs.begin(RUN), 1, 0, head, len(data)), data)
    with pytest.raises(WorkspaceError, match="which is no file of ours"):
        two.fetch()
    assert not two.state.exists()
    assert not list(two.state.parent.iterdir())


@pytest.mark.parametrize("way", ["../../victim", "/{base}/victim", "a/../../../victim", ".", ""])
def test_a_record_of_a_lane_cannot_name_a_folder_outside(places: tuple[Place, Place], way: str, tmp_path: Path) -> None:
    one, two = places
    victim = tmp_path / "two" / "victim"
    victim.mkdir(parents=True)
    (victim / "kept.txt").write_text("kept")
    lanes = two.workspace.with_name(f"{RUN}.lanes")
    lanes.mkdir(parents=True)
    (lanes / "kept.txt").write_text("kept")
    lane = "20261123-100000-abcdef1"
    with one.begin() as store:
        (one.state / "runs" / lane).mkdir()
        named = f"{one.workspace}.lanes/{way.format(base=str(tmp_path / 'two').removeprefix('/'))}"
        record = {"format": 1, "run": lane, "settings": {"workspace": named}}
        (one.state / "runs" / lane / "run.json").write_text(json.dumps(record))
        (one.workspace / "x").write_text("!")
        store.capture()
        repository = open_repository(one.state / "snapshots")
        repository.references.create(f"refs/rawko/{lane}", pygit2.Oid(hex=one.last))
        repository.free()
        store.send()
    with pytest.raises(WorkspaceError, match="is no folder of a lane"):
        two.fetch()
    assert (victim / "kept.txt").read_text() == (lanes / "kept.txt").read_text() == "kept"
    assert not (victim / "x").exists()
    assert not two.state.exists()


def test_a_record_cannot_name_another_workspace(places: tuple[Place, Place], tmp_path: Path) -> None:
    one, two = places
    with one.begin() as store:
        record = {"format": 1, "run": RUN, "settings": {"workspace": str(tmp_path / "victim")}}
        (one.state / "runs" / RUN / "run.json").write_text(json.dumps(record))
        store.capture()
        store.send()
    with pytest.raises(WorkspaceError, match=r"names the workspace '.*victim', which is not its own"):
        two.fetch()
    assert not two.state.exists()
    assert not two.workspace.exists()
