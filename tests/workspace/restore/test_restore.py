"""Going back: the files of a snapshot, exactly, and nothing lost on the way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import FileChange, Snapshot
from rawko.workspace import SnapshotStore
from rawko.workspace.restore.pending import PendingRestore
from rawko.workspace.restore.restore import TEMPORARY

Place = Any


def read(place: Place, path: str) -> bytes:
    return bytes((place.workspace / path).read_bytes())


@pytest.fixture
def store(place: Place) -> SnapshotStore:
    opened: SnapshotStore = place.open()
    return opened


@pytest.mark.parametrize("trust", [False, True], ids=["safe", "trusted"])
def test_a_restore_brings_the_files_back_and_takes_later_ones_away(
    place: Place, store: SnapshotStore, trust: bool
) -> None:
    place.write("edited", b"old\n")
    place.write("deleted/with/folder", b"back\n")
    place.write("program", b"#!\n", mode=0o755)
    place.write("same")
    (place.workspace / "link").symlink_to("same")
    first = store.capture(label="first")
    untouched = (place.workspace / "same").stat()
    place.write("edited", b"new\n")
    (place.workspace / "deleted/with/folder").unlink()
    (place.workspace / "deleted/with").rmdir()
    (place.workspace / "deleted").rmdir()
    (place.workspace / "program").chmod(0o644)
    (place.workspace / "link").unlink()
    (place.workspace / "link").symlink_to("edited")
    place.write("later/deep/file")
    second = store.capture(label="second")
    done = store.restore(first, trust=trust)
    assert done.now is not None
    assert (done.safety.tree, done.now.tree) == (second.tree, first.tree)
    assert [(change.path, change.kind) for change in done.changes] == [
        ("deleted/with/folder", "added"),
        ("edited", "modified"),
        ("later/deep/file", "deleted"),
        ("link", "modified"),
        ("program", "modified"),
    ]
    assert read(place, "edited") == b"old\n"
    assert read(place, "deleted/with/folder") == b"back\n"
    assert os.access(place.workspace / "program", os.X_OK)
    assert os.readlink(place.workspace / "link") == "same"  # noqa: PTH115
    assert not (place.workspace / "later").exists(), "folders that become empty go"
    after = (place.workspace / "same").stat()
    assert (after.st_mtime_ns, after.st_ino) == (untouched.st_mtime_ns, untouched.st_ino)
    assert store.capture().tree == first.tree
    assert [one.label for one in store.log()] == ["first", "second", "restored first"]
    assert store.restore(second).now is not None
    assert store.capture().tree == second.tree


def test_edits_that_nobody_captured_are_kept_as_a_safety_snapshot(place: Place, store: SnapshotStore) -> None:
    place.write("file", b"1")
    first = store.capture(label="first")
    place.write("file", b"2")
    store.capture(label="second")
    place.write("file", b"by hand")
    place.write("new by hand")
    done = store.restore(first)
    assert read(place, "file") == b"1"
    assert not (place.workspace / "new by hand").exists()
    assert place.content(done.safety.tree, b"file") == b"by hand"
    assert done.safety.label == "before restoring first"
    assert store.restore(done.safety).now is not None
    assert read(place, "file") == b"by hand"


def test_a_trusted_restore_still_refuses_to_lose_an_edit(place: Place, store: SnapshotStore) -> None:
    place.write("a", b"1")
    place.write("b", b"1")
    first = store.capture()
    place.write("a", b"2")
    place.write("b", b"2")
    store.capture(["a", "b"])
    place.write("b", b"by hand")
    with pytest.raises(WorkspaceError, match="'b' has changed since it was captured; nothing was restored") as caught:
        store.restore(first, trust=True)
    assert caught.value.path == "b"
    assert (read(place, "a"), read(place, "b")) == (b"2", b"by hand")


def test_a_trusted_restore_lists_no_folder(place: Place, store: SnapshotStore) -> None:
    for number in range(200):
        place.write(f"d{number % 20}/f{number}")
    first = store.capture()
    place.write("d3/f3", b"2")
    store.capture(["d3/f3"])
    scans = store.counters.scans
    store.restore(first, trust=True)
    assert store.counters.scans == scans
    assert store.capture().tree == first.tree


def test_a_dry_run_only_tells(place: Place, store: SnapshotStore) -> None:
    place.write("file", b"1\n")
    first = store.capture()
    place.write("file", b"2\n")
    place.write("other")
    told = store.restore(first, dry_run=True)
    assert told.now is None
    assert told.changes == (
        FileChange(path="file", kind="modified", added_lines=1, removed_lines=1),
        FileChange(path="other", kind="deleted", removed_lines=1),
    )
    assert read(place, "file") == b"2\n"
    assert (place.workspace / "other").exists()


def test_ignored_files_are_not_touched(place: Place, store: SnapshotStore) -> None:
    place.write(".gitignore", b"*.log\nbuild/\n")
    first = store.capture()
    place.write("folder/a.log", b"mine")
    place.write("folder/code")
    place.write("build/out", b"mine")
    store.restore(first)
    assert read(place, "folder/a.log") == read(place, "build/out") == b"mine"
    assert not (place.workspace / "folder/code").exists()


@pytest.mark.parametrize("obstacle", ["thing", "thing/inner.log", "thing/deep/inner.log"])
def test_an_uncaptured_file_in_the_way_is_not_lost(place: Place, store: SnapshotStore, obstacle: str) -> None:
    place.write("thing" if "/" in obstacle else "thing/inside", b"wanted")
    place.write("other", b"1")
    first = store.capture()
    subprocess.run(["rm", "-r", place.workspace / "thing"], check=True)
    place.write(".gitignore", b"*.log\nthing\n")
    place.write("other", b"2")
    store.capture()
    place.write(obstacle, b"precious")
    with pytest.raises(WorkspaceError, match="is in the way and in no snapshot") as caught:
        store.restore(first)
    assert caught.value.path == obstacle
    assert (read(place, obstacle), read(place, "other")) == (b"precious", b"2")
    (place.workspace / obstacle).unlink()
    store.restore(first)
    assert store.capture().tree == first.tree


def test_kinds_change_back(place: Place, store: SnapshotStore) -> None:
    place.write("one", b"file")
    place.write("two/inner", b"folder")
    (place.workspace / "three").symlink_to("one")
    first = store.capture()
    for path in ("one", "two", "three"):
        subprocess.run(["rm", "-r", place.workspace / path], check=True)
    place.write("one/now/a/folder")
    (place.workspace / "one/empty/inside").mkdir(parents=True)
    place.write("two", b"now a file")
    place.write("three/now/a/folder")
    second = store.capture()
    assert store.restore(first).now is not None
    assert store.capture().tree == first.tree
    store.restore(second)
    assert store.capture().tree == second.tree


def test_nothing_is_written_through_a_link(place: Place, store: SnapshotStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"outside")
    place.write("folder/file", b"1")
    first = store.capture()
    place.write("folder/file", b"2")
    second = store.capture()
    (place.workspace / "folder").rename(tmp_path / "aside")
    (place.workspace / "folder").symlink_to(outside)
    with pytest.raises(WorkspaceError, match="'folder' is in the way"):
        store.restore(first, trust=True)
    assert (outside / "file").read_bytes() == b"outside"
    store.restore(second)
    assert (outside / "file").read_bytes() == b"outside", "seen as a link by the full look, and replaced by the folder"
    assert read(place, "folder/file") == b"2"
    assert not (place.workspace / "folder").is_symlink()


def test_a_later_file_behind_a_folder_that_became_a_link_is_not_removed(
    place: Place, store: SnapshotStore, tmp_path: Path
) -> None:
    first = store.capture()
    place.write("folder/file", b"later")
    store.capture()
    (place.workspace / "folder").rename(tmp_path / "aside")
    (place.workspace / "folder").symlink_to(tmp_path / "aside")
    done = store.restore(first, trust=True)
    assert done.now is not None
    assert (tmp_path / "aside/file").read_bytes() == b"later"
    assert (place.workspace / "folder").is_symlink(), "the link is new and in no snapshot"


def test_permissions_of_a_replaced_file_stay(place: Place, store: SnapshotStore) -> None:
    place.write("secret", b"1", mode=0o600)
    place.write("program", b"1", mode=0o750)
    first = store.capture()
    place.write("secret", b"2")
    place.write("program", b"2")
    (place.workspace / "program").chmod(0o640)
    store.restore(first)
    assert stat.S_IMODE((place.workspace / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE((place.workspace / "program").stat().st_mode) == 0o750


def test_compiled_python_is_not_fooled(place: Place, store: SnapshotStore) -> None:
    """Compiled files compare the source's time by the second, and its size: going back and forth must show."""
    command = [sys.executable, "-c", "import module; print(module.value)"]

    def value() -> str:
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(command, cwd=place.workspace, env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    place.write(".gitignore", b"__pycache__\n")
    place.write("module.py", b"value = 1\n")
    first = store.capture()
    assert value() == "1"
    place.write("module.py", b"value = 2\n")
    os.utime(place.workspace / "module.py", (time.time() + 2, time.time() + 2))
    second = store.capture()
    assert value() == "2"
    for target, expected in ((first, "1"), (second, "2"), (first, "1")):
        store.restore(target)
        assert value() == expected


def test_a_restored_file_has_another_time_than_the_one_that_it_replaces(place: Place, store: SnapshotStore) -> None:
    """Also where that one's time is the very second that a restore gives its files: another process restored it."""
    now = int(time.time())
    for ahead in range(30):  # one of them is the second of the restore, however long that takes to begin
        place.write(f"copy{ahead}.py", b"value = 1\n")
    captured = store.capture()
    for ahead in range(30):
        place.write(f"copy{ahead}.py", b"value = 2\n")
        os.utime(place.workspace / f"copy{ahead}.py", (now + ahead, now + ahead))
    store.capture()
    store.restore(captured)
    for ahead in range(30):
        second = int((place.workspace / f"copy{ahead}.py").stat().st_mtime)
        assert second != now + ahead
        assert second >= now, "the time of the restore, or a second after it"


def test_an_incomplete_snapshot_is_refused_or_its_gaps_are_left_alone(place: Place) -> None:
    store = place.open(max_file_bytes=10)
    place.write("large", b"x" * 11)
    place.write("file", b"1")
    first = store.capture()
    place.write("large", b"small")
    place.write("file", b"2")
    store.capture()
    with pytest.raises(WorkspaceError, match="was not completely captured") as caught:
        store.restore(first)
    assert caught.value.path == "large"
    done = store.restore(first, allow_skipped=True)
    assert [change.path for change in done.changes] == ["file"]
    assert (read(place, "large"), read(place, "file")) == (b"small", b"1")


def test_a_skipped_file_in_the_way_is_not_overwritten(place: Place) -> None:
    store = place.open(max_file_bytes=10)
    place.write("file", b"1")
    first = store.capture()
    place.write("file", b"x" * 11)
    with pytest.raises(WorkspaceError, match="'file' is in the way"):
        store.restore(first)
    assert read(place, "file") == b"x" * 11


def test_missing_contents_are_found_before_anything_is_touched(place: Place, store: SnapshotStore) -> None:
    place.write("a", b"1")
    place.write("b", b"1 too")
    first = store.capture()
    lost = place.paths(first.tree)[b"b"][1].decode()
    place.write("a", b"2")
    place.write("b", b"2 too")
    store.capture()
    (place.repository / "objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(WorkspaceError, match="the contents of 'b' are missing"):
        store.restore(first)
    assert read(place, "a") == b"2"
    with pytest.raises(WorkspaceError, match="an object of it is missing"):
        store.restore(first.model_copy(update={"tree": "1" * 40}))


def odd_tree(place: Place, *names: bytes) -> str:
    """A tree with these names, whatever they are, in the private store."""
    blob = bytes.fromhex(place.git("hash-object", "-w", "--stdin", given=b"evil").decode())
    data = b"".join(b"100644 %s\0%s" % (name, blob) for name in names)
    written: bytes = place.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", given=data)
    return written.decode().strip()


@pytest.mark.parametrize("name", [b"..", b".git", b"a/b", b""])
def test_a_tree_that_no_capture_makes_is_refused(place: Place, store: SnapshotStore, name: bytes) -> None:
    good = store.capture()
    tree = odd_tree(place, name)
    with pytest.raises(WorkspaceError, match="no capture makes it"):
        store.restore(good.model_copy(update={"tree": tree}))


def test_a_refusal_of_the_system_says_where_the_files_are(place: Place, store: SnapshotStore) -> None:
    """A name that the folder of one restored path cannot take, though the other can."""
    place.write("a", b"1")
    first = store.capture()
    place.write("a", b"2")
    store.capture()
    tree = odd_tree(place, b"a", b"n" * 256)
    with pytest.raises(WorkspaceError, match="cannot be restored: File name too long"):
        store.restore(first.model_copy(update={"tree": tree}))


@pytest.mark.slow
def test_a_killed_restore_is_finished_by_the_next_open(place: Place) -> None:
    """Killed at several moments after its note was written."""
    for number in range(150):
        place.write(f"d{number % 10}/f{number}", b"old %d" % number)
    with place.open() as store:
        old = store.capture(label="old")
        for number in range(150):
            place.write(f"d{number % 10}/f{number}", b"new %d" % number)
        for number in range(30):
            place.write(f"later{number % 3}/f{number}")
        new = store.capture(label="new")
    program = (
        "import sys\nfrom rawko.workspace import SnapshotStore\n"
        "store = SnapshotStore.open(sys.argv[1], sys.argv[2], run='run')\n"
        "target = next(one for one in store.log() if one.label == sys.argv[3])\n"
        "print('ready', flush=True)\nstore.restore(target)\nprint('done', flush=True)\n"
    )
    note = place.state / "run.restore"
    interrupted = 0
    for attempt in range(3):
        target = (old, new)[attempt % 2]
        command = [sys.executable, "-c", program, str(place.workspace), str(place.state), target.label]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            while not note.exists() and other.poll() is None:
                pass
            killed_at = time.perf_counter() + 0.001 * attempt
            while time.perf_counter() < killed_at:
                pass
            other.send_signal(signal.SIGKILL)
        interrupted += note.exists()
        with place.open() as store:
            assert not note.exists()
            assert store.capture().tree == target.tree
            assert not [*place.workspace.rglob(TEMPORARY.decode() + "*")]
    assert interrupted, "no kill came in time: the test proves nothing"
    assert place.git("fsck", "--strict", "--full", "--no-dangling") == b""


def test_a_restore_left_half_way_is_finished(place: Place) -> None:
    place.write("a", b"old")
    place.write("b", b"old")
    place.write(".gitignore", b"build\n")
    store = place.open()
    store.capture()
    place.write("build/out", b"old")
    old = store.capture(["build/out"], label="old")
    for name in ("a", "b", "build/out"):
        place.write(name, b"new")
    (place.workspace / "build/out").unlink()
    safety = store.capture()
    PendingRestore(place.state / "run.restore").begin(old, safety)
    place.write("a", b"old")
    place.write("build/out", b"old")
    place.write(b"build/" + TEMPORARY + b"left", b"half")
    store.close()
    again = place.open()
    assert [read(place, name) for name in ("a", "b", "build/out")] == [b"old"] * 3
    assert again.last is not None
    assert again.last.tree == old.tree == again.capture().tree
    assert not (place.state / "run.restore").exists()


def test_a_note_that_cannot_be_read_is_said_so(place: Place) -> None:
    place.open().close()
    (place.state / "run.restore").write_text("{")
    with pytest.raises(WorkspaceError, match="remove it to keep the files as they are"):
        place.open()
    (place.state / "run.restore").unlink()
    place.open().capture()


paths = st.sampled_from(["a", "b", "a/x", "a/y", "b/x/y", "c/d/e", "c/d", "c"])
trees = st.lists(
    st.dictionaries(paths, st.tuples(st.binary(max_size=3), st.sampled_from(["file", "program", "link"])), max_size=6),
    min_size=2,
    max_size=4,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=trees, visits=st.lists(st.integers(0, 3), min_size=1, max_size=5), trust=st.booleans())
def test_capture_restore_capture_gives_the_same_tree(
    place: Place, states: list[dict[str, tuple[bytes, str]]], visits: list[int], trust: bool
) -> None:
    store = place.stores[0] if place.stores else place.open()
    snapshots: list[Snapshot] = []
    for state in states:
        subprocess.run(["find", place.workspace, "-mindepth", "1", "-delete"], check=True)
        for path, (data, kind) in state.items():
            target = place.workspace / path
            if target.is_dir() or any(above.is_file() or above.is_symlink() for above in target.parents):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                target.symlink_to("nothing" + data.hex())
            else:
                place.write(path, data, mode=0o755 if kind == "program" else 0o644)
        snapshots.append(store.capture())
    for visit in visits:
        target_snapshot = snapshots[visit % len(snapshots)]
        done = store.restore(target_snapshot, trust=trust)
        assert done.now is not None
        assert done.now.tree == target_snapshot.tree == store.capture().tree
        assert done.changes == store.changes(done.safety.tree, target_snapshot.tree)
        empty = [path for path in place.workspace.rglob("*") if path.is_dir() and not any(path.iterdir())]
        assert empty == []


def test_the_note_of_a_restore_may_be_removed_by_hand(tmp_path: Path) -> None:
    """As the message about a note that cannot be read advises."""
    pending = PendingRestore(tmp_path / "run.restore")
    snapshot = Snapshot(tree="0" * 40, commit="1" * 40, label="one")
    pending.begin(snapshot, snapshot)
    assert pending.target() == snapshot
    (tmp_path / "run.restore").unlink()
    pending.end()
    assert pending.target() is None


def test_a_restore_that_was_refused_half_way_is_not_begun_again(place: Place, store: SnapshotStore) -> None:
    """What stands in the way came after the check; the files stay as they are, also at the next open."""
    place.write("a", b"1")
    first = store.capture()
    place.write("a", b"2")
    store.capture()

    def obstruct(safety: Snapshot) -> None:
        (place.workspace / "a").unlink()
        place.write("a/mine", b"mine")

    with pytest.raises(WorkspaceError, match="0 of 1 paths were restored"):
        store.restore(first, begin=obstruct)
    assert not (place.state / "run.restore").exists()
    assert (place.workspace / "a" / "mine").read_bytes() == b"mine"
