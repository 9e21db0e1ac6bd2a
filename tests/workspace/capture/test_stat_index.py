"""The index on disk of what files looked like: nothing is read twice, and no edit is missed by it."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import time
from pathlib import Path

import pytest

from rawko.workspace import SnapshotStore, clean
from rawko.workspace.capture import reader
from rawko.workspace.capture.mirror import File
from rawko.workspace.capture.stat_index import read_index, write_index
from tests.workspace.conftest import Place


def settle(place: Place) -> None:
    """Wait until no file counts as racy, so that each of them gets a signature."""
    latest = max((path.lstat().st_ctime_ns for path in place.workspace.rglob("*")), default=0)
    while time.time_ns() - latest < 2 * reader.RACY_NS:
        time.sleep(0.01)


def index(place: Place) -> Path:
    return next(place.state.glob("*.index"))


def filled(place: Place, files: int = 30) -> str:
    """The tree of a captured workspace, whose index is on disk."""
    for number in range(files):
        place.write(f"folder{number % 3}/file{number}", b"file %d\n" % number)
    (place.workspace / "link").symlink_to("folder0")
    settle(place)
    with place.open("first") as store:
        return store.capture().tree


@pytest.mark.parametrize("run", ["first", "second"], ids=["the same run", "another run"])
def test_the_first_scan_of_a_process_reads_only_what_has_changed(place: Place, run: str) -> None:
    tree = filled(place)
    with place.open(run) as store:
        assert store.capture().tree == tree
        assert store.counters.reads == 0
    place.write("folder1/file1", b"edited\n")
    with place.open(run) as store:
        assert place.content(store.capture().tree, b"folder1/file1") == b"edited\n"
        assert store.counters.reads == 1


def test_an_edit_of_the_same_size_with_its_time_set_back_is_seen(place: Place) -> None:
    filled(place)
    path = place.workspace / "folder1" / "file1"
    before = path.stat()
    path.write_bytes(b"EDIT 1\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    with place.open("first") as store:
        assert place.content(store.capture().tree, b"folder1/file1") == b"EDIT 1\n"


def test_entries_that_are_not_older_than_the_index_are_read_again(tmp_path: Path) -> None:
    now, later = time.time_ns(), time.time_ns() + 3_600_000_000_000
    looks = {b"old": (now - 1, now - 1), b"modified later": (later, now - 1), b"changed later": (now - 1, later)}
    files = [(name, File(0o100644, b"x" * 20, (*times, 1, 2, 0o100644))) for name, times in looks.items()]
    write_index(tmp_path / "index", [*files, (b"no signature", File(0o100644, b"y" * 20))])
    assert read_index(tmp_path / "index") == {b"old": files[0][1]}


def test_a_change_time_of_whole_seconds_proves_nothing_for_two_seconds() -> None:
    second = 1_700_000_000_000_000_000
    old, after = second - 10**10, second + 1_500_000_000
    assert reader.is_racy(old, second, after)
    assert not reader.is_racy(old, second + 5, after)
    assert not reader.is_racy(old, second, second + reader.COARSE_NS)


def test_a_damaged_index_counts_as_none(place: Place) -> None:
    tree = filled(place)
    whole = index(place).read_bytes()
    chance = random.Random(1)
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(20)]
    for _ in range(20):
        at = chance.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
    for content in (*damaged, b""):
        index(place).write_bytes(content)
        assert read_index(index(place)) == {}
    with place.open("first") as store:
        assert store.capture().tree == tree
        assert store.counters.reads == 31
    assert index(place).read_bytes() != b""


def half_written(place: Place) -> Path:
    """What a process leaves that is killed while it writes the index."""
    temporary = index(place).with_name(f"{index(place).name}.tmp")
    temporary.write_bytes(index(place).read_bytes()[:50])
    return temporary


@pytest.mark.parametrize("is_capturing", [False, True], ids=["nothing captured", "a capture"])
def test_a_half_written_index_of_a_killed_process_is_removed(place: Place, is_capturing: bool) -> None:
    filled(place)
    temporary = half_written(place)
    place.write("new", b"new\n")
    settle(place)
    with place.open("second") as store:
        if is_capturing:
            store.capture()
    assert not temporary.exists()
    assert (b"new" in read_index(index(place))) is is_capturing


def test_an_index_that_another_process_writes_is_left_to_it(place: Place) -> None:
    filled(place)
    before = index(place).read_bytes()
    temporary = half_written(place)
    with temporary.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        place.write("new", b"new\n")
        settle(place)
        with place.open("second") as store:
            store.capture()
        assert temporary.read_bytes() == before[:50]
        assert index(place).read_bytes() == before


def test_contents_that_the_store_has_lost_are_read_again(place: Place) -> None:
    tree = filled(place)
    clean(place.state, forget=["first"])
    with place.open("second") as store:
        assert store.capture().tree == tree
    place.git("fsck", "--strict")
    shutil.rmtree(place.repository)
    with place.open("third") as store:
        assert store.capture().tree == tree
        assert place.content(tree, b"folder1/file1") == b"file 1\n"


def test_a_narrow_file_that_another_run_read_stays_narrow_when_that_run_is_gone(place: Place) -> None:
    place.write("key", b"secret\n", mode=0o600)
    filled(place)
    with place.open("second") as store:
        first = store.capture()
        assert store.counters.reads == 0
        (place.workspace / "key").unlink()
        store.capture()
    (place.state / "first.modes").unlink()
    with place.open("second") as store:
        store.restore(first)
    assert (place.workspace / "key").stat().st_mode & 0o777 == 0o600


def test_ignored_files_that_another_run_captured_are_left_out_again(place: Place) -> None:
    place.write("build/out", b"x\n")
    filled(place)
    place.write(".gitignore", b"build/\n")
    with place.open("second") as store:
        assert b"build/out" not in place.names(store.capture().tree)


def test_random_edits_between_processes_give_the_tree_that_a_scan_without_an_index_gives(
    place: Place, tmp_path: Path
) -> None:
    filled(place)
    chance = random.Random(7)
    for round_ in range(12):
        for _ in range(chance.randrange(4)):
            number = chance.randrange(30)
            path = place.workspace / f"folder{number % 3}" / f"file{number}"
            edit = chance.choice(["write", "same size", "remove", "mode", "replace"])
            if edit == "remove":
                path.unlink(missing_ok=True)
            elif edit == "mode" and path.exists():
                path.chmod(chance.choice([0o600, 0o644, 0o755]))
            elif edit == "replace" and path.exists():
                other = path.with_name("other")
                other.write_bytes(path.read_bytes()[::-1])
                other.replace(path)
            else:
                size = path.stat().st_size if edit == "same size" and path.exists() else chance.randrange(20)
                path.write_bytes(chance.randbytes(size))
        if chance.random() < 0.5:
            settle(place)
        with place.open("first") as store:
            found = store.capture().tree
        with SnapshotStore.open(place.workspace, tmp_path / f"fresh{round_}", run="run") as fresh:
            assert fresh.capture().tree == found
