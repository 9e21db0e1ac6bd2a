"""Snapshots beside the git command line: 10 000 files, one of them changed. Run with `--benchmark-only`."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rawko.workspace import SnapshotStore

FILES, FOLDERS = 10_000, 100
CHANGED = "folder7/file3.txt"
Edit = Callable[[], None]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("workspace")
    for folder in range(FOLDERS):
        (root / f"folder{folder}").mkdir()
        for file in range(FILES // FOLDERS):
            (root / f"folder{folder}/file{file}.txt").write_text(f"file {file} of folder {folder}\n" * 5)
    time.sleep(0.1)
    return root


@pytest.fixture
def edit(workspace: Path) -> Edit:
    counter = itertools.count()

    def change() -> None:
        (workspace / CHANGED).write_text(f"edit {next(counter)} at {time.time_ns()}\n")

    return change


@pytest.fixture(scope="module")
def store(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnapshotStore]:
    with SnapshotStore.open(workspace, tmp_path_factory.mktemp("state"), run="bench") as opened:
        opened.capture()
        yield opened


def test_hinted_capture(benchmark: Any, store: SnapshotStore, edit: Edit) -> None:
    benchmark.pedantic(lambda: store.capture([CHANGED]), setup=edit, rounds=100)


def test_full_look(benchmark: Any, store: SnapshotStore, edit: Edit) -> None:
    benchmark.pedantic(store.capture, setup=edit, rounds=20)


@pytest.mark.parametrize("trust", [True, False], ids=["trusted", "safe"])
def test_restore(benchmark: Any, store: SnapshotStore, edit: Edit, trust: bool) -> None:
    edit()
    target = store.capture()

    def change() -> None:
        edit()
        store.capture([CHANGED])

    benchmark.pedantic(lambda: store.restore(target, trust=trust), setup=change, rounds=20)


def test_diff(benchmark: Any, store: SnapshotStore, edit: Edit) -> None:
    before = store.capture().tree
    edit()
    after = store.capture().tree
    benchmark(lambda: store.diff(before, after))


@pytest.fixture(scope="module")
def git(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Git's command line on the same workspace, with everything in its index."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_DIR": str(tmp_path_factory.mktemp("git") / "dot-git"),
        "GIT_WORK_TREE": str(workspace),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], env=environment, cwd=workspace, check=True, capture_output=True)
        return done.stdout.decode().strip()

    run("init", "-q")
    run("add", "-A")
    return run


def test_git_add_and_write_tree(benchmark: Any, git: Callable[..., str], edit: Edit) -> None:
    def capture() -> None:
        git("add", "-A")
        git("write-tree")

    benchmark.pedantic(capture, setup=edit, rounds=20)


def test_git_read_tree(benchmark: Any, git: Callable[..., str], edit: Edit) -> None:
    target = git("write-tree")

    def change() -> None:
        edit()
        git("add", "-A")

    benchmark.pedantic(lambda: git("read-tree", "-u", "--reset", target), setup=change, rounds=20)
