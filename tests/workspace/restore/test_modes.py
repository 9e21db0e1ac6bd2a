"""A file that comes back is never open to more people than when it was captured."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rawko.workspace import SnapshotStore
from rawko.workspace.repository.archive import Archive


@contextmanager
def umask(mask: int) -> Iterator[None]:
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_modes_of_files_that_come_back(tmp_path: Path, mask: int) -> None:
    work, state, out = tmp_path / "work", tmp_path / "state", tmp_path / "out"
    modes = {"key": 0o600, "tool": 0o700, "plain": 0o644, "shared": 0o640, "root": 0o4755, "script": 0o755}
    work.mkdir()
    out.mkdir()
    for name, wanted in modes.items():
        (work / name).write_text(name)
        (work / name).chmod(wanted)
    with umask(mask):
        with SnapshotStore.open(work, state, run="run") as store:
            first = store.capture(label="first")
            for name in modes:
                (work / name).unlink()
            store.capture(label="second")
        with SnapshotStore.open(work, state, run="run") as store:
            store.restore(first)
        with Archive(state) as archive:
            archive.write_out(first, out)
    for folder in (work, out):
        for name, captured in modes.items():
            found = mode(folder / name)
            assert found & ~captured == 0, f"{name}: {found:o} is wider than {captured:o}"
            assert found & 0o400, name
            assert bool(found & 0o100) == bool(captured & 0o100), name
            assert not found & 0o7000, name
    assert mode(work / "key") == 0o600
    if mask == 0o022:
        assert mode(work / "plain") == 0o644


def test_a_file_that_is_there_keeps_permissions_that_a_new_one_would_not_get(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "state"
    work.mkdir()
    (work / "shared").write_text("one")
    (work / "shared").chmod(0o644)
    with umask(0o077), SnapshotStore.open(work, state, run="run") as store:
        first = store.capture(label="first")
        (work / "shared").write_text("two")
        store.capture(label="second")
        store.restore(first)
    assert (work / "shared").read_text() == "one"
    assert mode(work / "shared") == 0o644


def test_a_file_that_was_opened_to_others_meanwhile_is_narrow_again(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "state"
    work.mkdir()
    (work / "key").write_text("one")
    (work / "key").chmod(0o600)
    with SnapshotStore.open(work, state, run="run") as store:
        first = store.capture(label="first")
        (work / "key").chmod(0o666)
        (work / "key").write_text("two")
        store.restore(first)
    assert mode(work / "key") == 0o600


def test_a_folder_called_as_git_s_own_in_another_case_is_told_and_left_alone(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "state"
    (work / "sub" / ".GIT").mkdir(parents=True)
    (work / "sub" / ".GIT" / "mine").write_text("mine")
    (work / "sub" / "a").write_text("a")
    with SnapshotStore.open(work, state, run="run") as store:
        first = store.capture(label="first")
        assert first.skipped == ("sub/.GIT",)
        (work / "sub" / "a").unlink()
        store.restore(first, allow_skipped=True)
    assert (work / "sub" / "a").read_text() == "a"
    assert (work / "sub" / ".GIT" / "mine").read_text() == "mine"
