"""Whose a file is that comes back, where root captures and restores the files of others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rawko.workspace import SnapshotStore
from rawko.workspace.owners import Owners
from rawko.workspace.repository.archive import Archive

ALICE, BOB = (12_345, 23_456), (12_346, 23_457)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def owner(path: Path) -> tuple[int, int]:
    seen = path.lstat()
    return seen.st_uid, seen.st_gid


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "inner").mkdir(parents=True)
    for name, whose, mode in (
        ("mine", (0, 0), 0o644),
        ("inner/alices", ALICE, 0o640),
        ("tool", ALICE, 0o6755),
        ("bobs", BOB, 0o600),
    ):
        (folder / name).write_text(f"{name}\n")
        os.chown(folder / name, *whose)
        (folder / name).chmod(mode)
    return folder


def test_files_of_others_come_back_as_theirs_and_without_set_uid(work: Path, tmp_path: Path) -> None:
    state, out = tmp_path / "state", tmp_path / "out"
    out.mkdir()
    names = ("mine", "inner/alices", "tool", "bobs")
    with SnapshotStore.open(work, state, run="run") as store:
        first = store.capture()
        for name in names:
            (work / name).unlink()
        store.capture()
    with SnapshotStore.open(work, state, run="run") as store:  # from what is on disk
        store.restore(first)
    with Archive(state) as archive:
        archive.write_out(first, out)
    for folder in (work, out):
        assert [owner(folder / name) for name in names] == [(0, 0), ALICE, ALICE, BOB]
        assert stat.S_IMODE((folder / "tool").stat().st_mode) == 0o755
        assert stat.S_IMODE((folder / "bobs").stat().st_mode) == 0o600
        assert stat.S_IMODE((folder / "inner" / "alices").stat().st_mode) == 0o640


def test_what_was_captured_as_root_s_is_never_given_away(work: Path, tmp_path: Path) -> None:
    secret = work / "key"
    secret.write_text("of root\n")
    secret.chmod(0o600)
    with SnapshotStore.open(work, tmp_path / "state", run="run") as store:
        first = store.capture()
        secret.write_text("for alice\n")
        os.chown(secret, *ALICE)
        second = store.capture()
        store.restore(first)
        assert (secret.read_text(), owner(secret)) == ("of root\n", (0, 0))
        store.restore(second)
        assert (secret.read_text(), owner(secret)) == ("for alice\n", ALICE)


def test_a_file_that_was_given_back_to_root_is_root_s(work: Path, tmp_path: Path) -> None:
    path = work / "bobs"
    with SnapshotStore.open(work, tmp_path / "state", run="run") as store:
        store.capture()
        os.chown(path, 0, 0)
        first = store.capture()
        path.unlink()
        store.capture()
    with SnapshotStore.open(work, tmp_path / "state", run="run") as store:
        store.restore(first)
    assert owner(path) == (0, 0)


def test_a_link_stays_root_s(work: Path, tmp_path: Path) -> None:
    """Its owner says nothing, and giving a name away could give away what was put in its place meanwhile."""
    link = work / "link"
    link.symlink_to("mine")
    os.chown(link, *ALICE, follow_symlinks=False)
    with SnapshotStore.open(work, tmp_path / "state", run="run") as store:
        first = store.capture()
        link.unlink()
        store.capture()
        store.restore(first)
    assert (link.is_symlink(), owner(link), owner(work / "mine")) == (True, (0, 0), (0, 0))


def test_owners_of_another_run_hold_and_survive_its_removal(work: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    for run in ("first", "second"):
        with SnapshotStore.open(work, state, run=run) as store:
            snapshot = store.capture()
    (state / "first.owners").unlink()
    (work / "bobs").unlink()
    with SnapshotStore.open(work, state, run="second") as store:
        store.restore(snapshot)
    assert owner(work / "bobs") == BOB


def test_lines_that_a_full_disk_cut_off_are_passed_over(tmp_path: Path) -> None:
    notes = tmp_path / "run.owners"
    made = Owners(notes)
    seen = os.stat_result((0o100644, 0, 0, 1, *ALICE, 0, 0, 0, 0))
    made.note(b"whole", b"x" * 20, seen)
    made.flush()
    notes.write_bytes(notes.read_bytes() + b"12:34 00ff\n" + b"\xff\0\n1:2 " + b"0" * 40)
    read = Owners(notes, [notes])
    assert read.owner(b"whole", b"x" * 20) == ALICE
    assert read.owner(b"whole", b"y" * 20) is None
