"""The files of a run committed and packed after each call, for contenders whose runs are to go on elsewhere.

The repository lies beside the folder. A pack holds what the commit before has not; all packs of a run, in their order,
make the folder anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

WHO: Final = {
    "GIT_AUTHOR_NAME": "bench",
    "GIT_AUTHOR_EMAIL": "bench@localhost",
    "GIT_COMMITTER_NAME": "bench",
    "GIT_COMMITTER_EMAIL": "bench@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Files(Protocol):
    """Commits of one folder."""

    def capture(self) -> tuple[str, bytes]:
        """Commit the files as they are: the commit, and a pack of what it has beyond the one before."""
        ...

    def take_up(self, packs: Sequence[tuple[str, bytes]]) -> None:
        """Make the folder what the last one of these packs says; empty where there is none."""
        ...


class ByGit:
    """By the commands of git, as most would write it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = folder.with_name(f"{folder.name}.git")
        self._head = ""
        self._environ = {**os.environ, **WHO, "GIT_DIR": str(self._store), "GIT_WORK_TREE": str(folder)}

    def capture(self) -> tuple[str, bytes]:
        self._git("add", "--all")
        tree = self._git("write-tree").decode().strip()
        above = ["-p", self._head] if self._head else []
        head = self._git("commit-tree", tree, *above, "-m", "after a call").decode().strip()
        without = f"^{self._head}\n" if self._head else ""
        pack = self._git("pack-objects", "--revs", "--stdout", "-q", told=f"{head}\n{without}".encode())
        self._head = head
        return head, pack

    def take_up(self, packs: Sequence[tuple[str, bytes]]) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._store, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._git("init", "-q", "--bare", str(self._store))
        for head, data in packs:
            self._git("unpack-objects", "-q", told=data)
            self._head = head
        if packs:
            self._git("read-tree", self._head)
            self._git("checkout-index", "--all", "--force")

    def _git(self, *words: str, told: bytes = b"") -> bytes:
        environ = self._environ
        if words[0] == "init":
            environ = {name: one for name, one in environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
        done = subprocess.run(
            ["git", *words], input=told, capture_output=True, env=environ, cwd=self._folder, check=True
        )
        return done.stdout


class ByPygit2:
    """By libgit2, in the process of the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = folder.with_name(f"{folder.name}.git")
        self._head = ""

    def capture(self) -> tuple[str, bytes]:
        import pygit2

        repository = self._repository
        repository.index.add_all()
        repository.index.write()
        tree = repository.index.write_tree()
        who = pygit2.Signature(WHO["GIT_AUTHOR_NAME"], WHO["GIT_AUTHOR_EMAIL"])
        above = [pygit2.Oid(hex=self._head)] if self._head else []
        commit = repository.create_commit(None, who, who, "after a call", tree, above)
        builder = pygit2.PackBuilder(repository)
        builder.add(commit)
        before = repository[above[0]].peel(pygit2.Tree) if above else None
        self._add(builder, repository[tree], before)
        self._head = str(commit)
        with tempfile.TemporaryDirectory() as folder:
            builder.write(folder)
            return self._head, next(Path(folder).glob("*.pack")).read_bytes()

    def _add(self, builder: Any, tree: Any, before: Any) -> None:
        """The objects of a tree that another one lacks at the same places."""
        builder.add(tree.id)
        had: Mapping[str, Any] = {} if before is None else {one.name: one for one in before}
        for one in tree:
            was = had.get(one.name)
            if was is not None and was.id == one.id:
                continue
            if one.type_str == "tree":
                self._add(builder, one, was if was is not None and was.type_str == "tree" else None)
            else:
                builder.add(one.id)

    def take_up(self, packs: Sequence[tuple[str, bytes]]) -> None:
        import pygit2
        from pygit2.enums import CheckoutStrategy

        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._store, ignore_errors=True)
        self._folder.mkdir(parents=True)
        pygit2.init_repository(str(self._store), bare=True)
        for head, data in packs:  # libgit2 has no call that unpacks: git does it, which only happens after a kill
            environ = {**os.environ, "GIT_DIR": str(self._store)}
            subprocess.run(["git", "unpack-objects", "-q"], input=data, env=environ, check=True)
            self._head = head
        self._repository: Any = pygit2.Repository(str(self._store))
        self._repository.workdir = str(self._folder)
        if packs:
            tree = self._repository[pygit2.Oid(hex=self._head)].peel(pygit2.Tree)
            checkout: Any = self._repository.checkout_tree
            checkout(tree, strategy=CheckoutStrategy.FORCE)
            self._repository.index.read_tree(tree)


BY_NAME: Final[Mapping[str, Callable[[Path], Files]]] = {"git": ByGit, "pygit2": ByPygit2}
