"""Reading the store of a state folder beside a run at work, and filling a folder of its own for a fork."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from rawko.runtime.ports import WorkspaceError
from rawko.workspace import clean
from rawko.workspace.repository.archive import Archive
from rawko.workspace.repository.locks import user_of
from rawko.workspace.store import SnapshotStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def state(folder: Path) -> Path:
    return folder.parent / "state"


def test_a_run_at_work_is_read_and_told(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    with SnapshotStore.open(folder, state(folder), run="r") as store:
        first = store.capture(label="first")
        (folder / "a.txt").write_text("two\n")
        second = store.capture(label="second")
        with Archive(state(folder)) as archive:
            assert archive.snapshots("r") == [first, second]
            assert archive.snapshots("other") == []
            assert [change.path for change in archive.changes(first.tree, second.commit)] == ["a.txt"]
            assert "-one\n+two\n" in archive.diff(first.commit, second.tree)
            assert archive.snapshot(second.commit) == second
        assert user_of(state(folder), "r") == os.getpid()
    assert user_of(state(folder), "r") is None
    assert user_of(state(folder), "other") is None


def test_a_fork_fills_a_folder_of_its_own_and_has_a_history_of_its_own(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "tool.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "tool.sh").chmod(0o755)
    (folder / "link").symlink_to("sub/tool.sh")
    odd = os.fsdecode(b"not \xff utf-8")
    (folder / odd).write_bytes(b"\0\r\n")
    with SnapshotStore.open(folder, state(folder), run="r") as store:
        taken = store.capture(label="one")
    other = folder.parent / "other"
    other.mkdir()
    with Archive(state(folder)) as archive:
        archive.write_out(taken, other)
        begun = archive.begin("f", taken, "fork of r")
        with pytest.raises(WorkspaceError, match="has snapshots already"):
            archive.begin("f", taken, "again")
    assert (begun.tree, begun.label) == (taken.tree, "fork of r")
    assert sorted(path.name for path in other.iterdir()) == ["link", odd, "sub"]
    assert str((other / "link").readlink()) == "sub/tool.sh"
    assert os.access(other / "sub" / "tool.sh", os.X_OK)
    assert (other / odd).read_bytes() == b"\0\r\n"
    with SnapshotStore.open(other, state(folder), run="f") as store:
        assert store.capture(label="same").commit == begun.commit, "nothing has changed"
        (other / "new").write_text("new\n")
        store.capture(label="more")
    with Archive(state(folder)) as archive:
        assert [one.label for one in archive.snapshots("r")] == ["one"]
        assert [one.label for one in archive.snapshots("f")] == ["fork of r", "more"]


def test_what_is_missing_is_named_and_nothing_is_written(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "lost.txt").write_text("only here\n")
    (folder / "kept.txt").write_text("kept\n")
    with SnapshotStore.open(folder, state(folder), run="r") as store:
        taken = store.capture()
        (folder / "sub" / "lost.txt").write_text("other\n")
        store.capture()
    with Archive(state(folder)) as archive:
        assert archive.missing(taken) == []
    loose = (state(folder) / "snapshots.git" / "objects").glob("??/*")
    next(path for path in loose if zlib.decompress(path.read_bytes()).endswith(b"\0only here\n")).unlink()
    other = folder.parent / "other"
    other.mkdir()
    with Archive(state(folder)) as archive:
        assert archive.missing(taken) == ["sub/lost.txt"]
        with pytest.raises(WorkspaceError, match=r"contents of 'sub/lost.txt' are missing"):
            archive.write_out(taken, other)
    assert list(other.iterdir()) == []


def test_a_state_folder_without_snapshots_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="there are no snapshots"):
        Archive(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_gone_uses_nothing(folder: Path) -> None:
    with SnapshotStore.open(folder, state(folder), run="r"):
        pass
    lock = state(folder) / "r.lock"
    lock.write_text("4194304\n")  # above the largest process id
    assert user_of(state(folder), "r") is None
    lock.write_text(f"{os.getpid()}\n")
    assert user_of(state(folder), "r") is None, "alive, but it does not hold the lock"
    lock.write_text("nobody\n")
    assert user_of(state(folder), "r") is None


def test_a_lock_that_names_no_process_yet_is_nobody_s(folder: Path) -> None:
    with SnapshotStore.open(folder, state(folder), run="r"):
        (state(folder) / "r.lock").write_text("")
        assert user_of(state(folder), "r") is None


def open_files(folder: Path) -> list[str]:
    """Descriptors of this process that lead into a folder, and its files that are mapped into memory."""
    found = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    mapped = [line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()]
    return sorted(name for name in (*found, *mapped) if name.startswith(str(folder)))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux tells which files are open")
def test_nothing_stays_open(folder: Path) -> None:
    """Of whole and hinted captures, restores, comparisons, a cleaning, and reading in a pack."""
    base = folder.parent
    (folder / "a" / "b").mkdir(parents=True)
    file = folder / "a" / "b" / "file"
    file.write_text("one\n")
    with SnapshotStore.open(folder, state(folder), run="r") as store:
        first = store.capture()
        before = open_files(base)
        for number in range(3):
            file.write_text(f"{number}\n")
            last = store.capture(["a/b/file", "a/b", "a/missing", "a/b/file/below"])
            store.capture()
            assert b"one" in store.diff(first.tree, last.tree)
            store.restore(first)
        assert open_files(base) == before
    assert open_files(base) == []
    clean(state(folder))
    with Archive(state(folder)) as archive:
        assert "+2\n" in archive.diff(first.tree, last.tree)
    del archive
    assert open_files(base) == []
