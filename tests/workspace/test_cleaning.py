"""Packing and dropping: small afterwards, nothing needed is lost, and stores that are open meanwhile go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import Snapshot
from rawko.workspace import SnapshotStore, clean
from rawko.workspace.repository.archive import Archive
from rawko.workspace.repository.objects import STREAM_FROM_BYTES
from tests.workspace.conftest import Place


def loose(place: Place) -> list[Path]:
    return [path for path in (place.repository / "objects").glob("??/*") if len(path.name) == 38]


def packs(place: Place) -> list[Path]:
    return sorted((place.repository / "objects" / "pack").glob("*.idx"))


def capture_some(place: Place, store: SnapshotStore, count: int, name: str = "file") -> list[Snapshot]:
    found = []
    for number in range(count):
        place.write(f"folder/{name}{number % 7}.py", b"edit %d of %s\n" % (number, name.encode()) * 20)
        found.append(store.capture(label=str(number)))
    return found


def test_cleaned_snapshots_are_packed_whole_and_restorable(place: Place) -> None:
    with place.open() as store:
        snapshots = capture_some(place, store, 30)
        before = len(loose(place))
        done = clean(place.state)
        assert done.packed == before > 60
        assert done.dropped == 0
        assert done.bytes_after < done.bytes_before / 5
        assert loose(place) == []
        place.git("fsck", "--strict")
        for snapshot in (snapshots[0], snapshots[17], snapshots[-1]):
            assert store.restore(snapshot).now is not None
            assert store.capture().tree == snapshot.tree


def test_five_hundred_snapshots_take_less_than_three_kib_each(place: Place) -> None:
    for number in range(300):
        place.write(f"src{number % 10}/module{number}.py", b"def f%d():\n    return %d\n" % (number, number) * 10)
    with place.open() as store:
        store.capture()
    base = clean(place.state).bytes_after
    with place.open() as store:
        for number in range(500):
            path = f"src{number % 10}/module{number % 300}.py"
            place.write(path, b"def f%d():\n    return %d\n" % (number, number * 7) * 10)
            store.capture([path])
    assert (clean(place.state).bytes_after - base) / 500 <= 3 * 1024


def test_what_only_a_forgotten_run_needed_is_dropped(place: Place) -> None:
    with place.open("kept") as store:
        kept = capture_some(place, store, 5, "kept")
    with place.open("gone") as store:
        capture_some(place, store, 5, "gone")
    done = clean(place.state, forget=["gone", "never-was"])
    assert done.dropped > 5
    assert b"gone" not in place.git("for-each-ref")
    with place.open("kept") as store:
        assert [snapshot.commit for snapshot in store.log()] == [snapshot.commit for snapshot in kept]
        store.restore(kept[0])
        assert store.capture().tree == kept[0].tree


def test_a_forgotten_run_is_dropped_out_of_a_pack_too(place: Place) -> None:
    with place.open("kept") as store:
        capture_some(place, store, 3, "kept")
    with place.open("gone") as store:
        capture_some(place, store, 40, "gone")
    packed = clean(place.state)
    done = clean(place.state, forget=["gone"])
    assert done.dropped > 40
    assert done.bytes_after < packed.bytes_after
    assert len(packs(place)) == 1
    place.git("fsck", "--strict", "--full")


def test_packs_do_not_pile_up(place: Place) -> None:
    with place.open() as store:
        for number in range(20):
            place.write("a", b"%d" % number)
            store.capture()
            clean(place.state)
            assert len(packs(place)) <= 8
        assert len(store.log()) == 20


def test_cleaning_twice_changes_nothing(place: Place) -> None:
    with place.open() as store:
        capture_some(place, store, 4)
    clean(place.state)
    before = packs(place)
    done = clean(place.state)
    assert (done.packed, done.dropped) == (0, 0)
    assert packs(place) == before


def test_a_run_that_is_open_is_not_forgotten(place: Place) -> None:
    with place.open() as store:
        snapshot = store.capture()
        with pytest.raises(WorkspaceError, match="is in use by process"):
            clean(place.state, forget=["run"])
        assert store.log() == [snapshot]


def test_a_run_with_an_unfinished_restore_is_not_forgotten(place: Place) -> None:
    with place.open() as store:
        store.capture()
    (place.state / "run.restore").write_text("{}")
    with pytest.raises(WorkspaceError, match="resume it once"):
        clean(place.state, forget=["run"])


@pytest.mark.parametrize("size", [10, STREAM_FROM_BYTES + 1], ids=["small", "streamed"])
def test_an_open_store_does_not_believe_in_what_was_dropped(place: Place, size: int) -> None:
    """The same contents come back after they were dropped with the run that held them."""
    place.write("first")
    with place.open("stays") as stays:
        with place.open("goes") as goes:
            place.write("big", b"b" * size)
            goes.capture()
        clean(place.state)
        place.workspace.joinpath("big").unlink()
        stays.capture()
        clean(place.state, forget=["goes"])
        place.write("big", b"b" * size)
        back = stays.capture()
        place.git("fsck", "--full")
        place.workspace.joinpath("big").unlink()
        stays.restore(back)
    assert place.workspace.joinpath("big").read_bytes() == b"b" * size


def test_a_damaged_store_loses_nothing_more(place: Place) -> None:
    with place.open() as store:
        capture_some(place, store, 3)
    victim = loose(place)[0]
    victim.unlink()
    before = loose(place)
    with pytest.raises(WorkspaceError, match="nothing was removed"):
        clean(place.state)
    assert loose(place) == before


def test_rests_of_killed_processes_go(place: Place) -> None:
    with place.open() as store:
        capture_some(place, store, 3)
    objects = place.repository / "objects"
    (objects / "tmp_obj_abc").write_bytes(b"half")
    (objects / "rawko-new" / "pack").mkdir(parents=True)
    (objects / "rawko-new" / "pack" / "pack-1.pack").write_bytes(b"half")
    (objects / "pack" / f"pack-{'0' * 40}.pack").write_bytes(b"half")
    clean(place.state)
    left = [path for path in objects.rglob("*") if path.is_file()]
    assert sorted(path.suffix for path in left) == [".idx", ".pack"]


@pytest.mark.slow
def test_a_cleaning_that_is_killed_loses_nothing(place: Place) -> None:
    with place.open("kept") as store:
        kept = capture_some(place, store, 150, "kept")
    with place.open("gone") as store:
        capture_some(place, store, 50, "gone")
    program = "import sys; from rawko.workspace import clean; print('ready', flush=True);"
    for number in range(12):
        forgotten = ["gone"] if number == 6 else []
        child = subprocess.Popen(
            [sys.executable, "-c", program + f"clean({str(place.state)!r}, forget={forgotten!r})"],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(number * 0.004)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        place.git("fsck", "--full")
        with place.open("kept") as store:
            assert [one.commit for one in store.log()] == [one.commit for one in kept]
            capture_some(place, store, 2, f"round{number}")
            kept = store.log()
    clean(place.state)
    assert loose(place) == []
    assert len([path for path in (place.repository / "objects").rglob("*") if path.is_file()]) == 2


@pytest.mark.slow
def test_a_store_with_many_objects_is_packed_when_a_run_ends(place: Place) -> None:
    with place.open() as store:
        for number in range(9000):
            place.write(f"d{number % 50}/f{number}", b"%d" % number)
        store.capture()
    assert loose(place) == []
    assert len(packs(place)) == 1
    with place.open() as store:
        assert store.capture().tree == store.log()[-1].tree


@pytest.mark.slow
def test_a_run_that_grows_packs_what_lies_loose(tmp_path: Path) -> None:
    """So that it never holds much more than what its packed state would; it goes on with what is packed."""
    work, state = tmp_path / "work", tmp_path / "state"
    (work / "sub").mkdir(parents=True)
    with SnapshotStore.open(work, state, run="run") as store:
        packed = 0
        for number in range(900):
            (work / "sub" / f"{number % 40}.txt").write_text(f"{number}\n" * 20)
            store.capture([f"sub/{number % 40}.txt"], label=str(number))
            packed += store.pack_if_many()
        assert packed >= 1
        objects = state / "snapshots.git" / "objects"
        loose = [path for path in objects.glob("??/*") if len(path.name) == 38]
        assert len(loose) < 3_000
        assert len(store.log()) == 900
        store.restore(store.log()[5])
        assert (work / "sub" / "5.txt").read_text() == "5\n" * 20
    clean(state)
    with Archive(state) as archive:
        assert len(archive.snapshots("run")) >= 900


@pytest.mark.slow
def test_many_versions_of_one_large_file_are_packed_long_before_there_are_many_objects(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "state"
    work.mkdir()
    lines = [f"{random.Random(number).random()}\n" for number in range(12_000)]
    objects = state / "snapshots.git" / "objects"
    most, count = 0, 0
    with SnapshotStore.open(work, state, run="run") as store:
        for number in range(250):
            lines[number * 40] = f"changed {number}\n"
            (work / "large.csv").write_text("".join(lines))
            store.capture(["large.csv"])
            store.pack_if_many()
            loose = [path.stat().st_size for path in objects.glob("??/*")]
            packed = sum(path.stat().st_size for path in objects.glob("pack/*"))
            count = max(count, len(loose))
            most = max(most, sum(loose) - packed)
        assert most < 6 * 1024 * 1024, "4 MiB more than the packs, 1 MiB until it is weighed again, one version"
        assert count < 400, "so few that their number alone has not packed them"
        assert len(store.log()) == 250
    clean(state)
    with Archive(state) as archive:
        assert all(not archive.missing(snapshot) for snapshot in archive.snapshots("run")[::50])
