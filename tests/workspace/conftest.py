"""What the workspace tests share: real folders, real stores, and the real git to check them with."""
# pathlib has no paths of bytes:
# ruff: noqa: PTH101, PTH103, PTH118, PTH120, PTH123

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

from rawko.workspace import SnapshotStore

PLAIN_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_user() -> None:
    """The tests see no ~/.gitconfig; the one test that means it passes it to a process of its own."""
    for level in (ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.SYSTEM):
        pygit2.settings.search_path[level] = ""


def run_git(*arguments: str | bytes, cwd: Path, given: bytes = b"", may_fail: bool = False) -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=PLAIN_ENVIRONMENT, input=given, capture_output=True, check=False
    )
    if done.returncode and not may_fail:
        raise AssertionError(f"git {arguments!r}: {done.stderr.decode(errors='replace')}")
    return done.stdout


@dataclass
class Place:
    """A workspace, its state folder, and the stores that a test opened."""

    folder: Path
    stores: list[SnapshotStore] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def repository(self) -> Path:
        return self.state / "snapshots.git"

    def open(self, run: str = "run", *, max_file_bytes: int = 1 << 30) -> SnapshotStore:
        store = SnapshotStore.open(self.workspace, self.state, run=run, max_file_bytes=max_file_bytes)
        self.stores.append(store)
        return store

    def write(self, path: str | bytes, content: bytes = b"x\n", *, mode: int | None = None) -> None:
        target = os.path.join(os.fsencode(self.workspace), os.fsencode(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        if mode is not None:
            os.chmod(target, mode)

    def git(self, *arguments: str | bytes, given: bytes = b"") -> bytes:
        """The output of git in the private repository."""
        return run_git(*arguments, cwd=self.repository, given=given)

    def paths(self, tree: str) -> dict[bytes, tuple[bytes, bytes]]:
        """Path to (mode, object id) of all files in a captured tree, as git lists them."""
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]
        parsed = (line.split(b"\t", 1) for line in listed)
        return {path: (about.split()[0], about.split()[2]) for about, path in parsed}

    def names(self, tree: str) -> set[bytes]:
        return set(self.paths(tree))

    def content(self, tree: str, path: bytes) -> bytes:
        return self.git("cat-file", "blob", self.paths(tree)[path][1])

    def close(self) -> None:
        for store in self.stores:
            store.close()


MakePlace = Callable[[Path], Place]


@pytest.fixture
def make_place() -> Iterator[MakePlace]:
    """Makes places in given folders; their stores are closed at the end."""
    made: list[Place] = []

    def make(folder: Path) -> Place:
        place = Place(folder)
        place.workspace.mkdir(parents=True)
        made.append(place)
        return place

    yield make
    for place in made:
        place.close()


@pytest.fixture
def place(tmp_path: Path, make_place: MakePlace) -> Place:
    return make_place(tmp_path)


@pytest.fixture(scope="session")
def git() -> Callable[..., bytes]:
    return run_git
