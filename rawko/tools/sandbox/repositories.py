"""Finds the places that a repository's own files name: other repositories, hooks, included configuration, scripts.

    .git: "gitdir: ../store"                     store
    store/commondir: "../main"                   main
    config: [core] hooksPath = tools/hooks       tools/hooks
    config: [include] path = ../shared           shared
    config: [filter "x"] clean = sh tools/x.sh   tools/x.sh

git itself reads the configuration (`git config`, which executes nothing from it), user settings included. If git is not
installed, only pointers and links are followed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rawko.processes.launching import with_default_signals

_MAX_POINTER_BYTES: Final = 8192
_GIT_S: Final = 20
_PATHS: Final = re.compile(r"core\.(hookspath|attributesfile)|include\.path|includeif\..*\.path|init\.templatedir")
_COMMANDS: Final = re.compile(
    r"core\.(fsmonitor|sshcommand|gitproxy|askpass|editor|pager|alternaterefscommand)|sequence\.editor"
    r"|alias\..*|pager\..*|credential\.(.*\.)?helper|filter\..*\.(clean|smudge|process)"
    r"|diff\.(external|.*\.(command|textconv))|merge\..*\.driver|gpg\.(.*\.)?program|interactive\.difffilter"
    r"|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack)|submodule\..*\.update"
    r"|.*\.(cmd|command|path)"
)
_HOOKS: Final = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
"""File names in a hooks folder, githooks(5)."""
_LINKED: Final = ("", "hooks", "info")
"""Folders of a repository in which links are followed."""


class Pointers:
    """Reads where repositories point; caches git's answer until one of the files that git read changes.

    Args:
        path: Where to look for git; the PATH of this process if None.
    """

    def __init__(self, path: str | None = None) -> None:
        self._git = shutil.which("git", path=path)
        self._said: dict[Path, tuple[tuple[object, ...], list[tuple[str, str, str]]]] = {}

    def of(self, git: Path) -> Iterator[Path]:
        """Places that are obeyed because a `.git` (or a bare repository) names them; they need not exist.

        Args:
            git: A folder, a file with `gitdir:`, or a link to one.
        """
        work_tree = git.parent
        folder = _pointer(git, "gitdir:") if git.is_file() else git
        if folder is None:
            return
        if git.is_symlink() or folder != git:
            yield folder
        yield from self._of_folder(folder, work_tree)

    def of_bare(self, folder: Path) -> Iterator[Path]:
        """Like `of`, for a folder that is itself a repository."""
        yield from self._of_folder(folder, folder)

    def _of_folder(self, folder: Path, work_tree: Path) -> Iterator[Path]:
        common = _pointer(folder / "commondir", "")
        if common is not None:
            yield common
            yield from _links(common)
        yield from _links(folder)
        yield from self._configured(folder, work_tree)
        modules = folder / "modules"
        if modules.is_dir():
            for inner, folders, files in os.walk(modules):
                if "HEAD" in files:
                    folders[:] = [name for name in folders if name == "modules"]
                    yield from _links(Path(inner))
                    yield from self._configured(Path(inner), Path(inner))

    def _configured(self, folder: Path, work_tree: Path) -> Iterator[Path]:
        for origin, name, value in self._settings(folder):
            if _PATHS.fullmatch(name):
                base = Path(origin).parent if name.startswith("include") else work_tree
                place = base / Path(value).expanduser()
                yield place
                if name == "core.hookspath" and work_tree.is_relative_to(os.path.realpath(place)):
                    yield from (place / hook for hook in _HOOKS)  # not the folder itself, which must stay writable
            elif _COMMANDS.fullmatch(name):
                for word in _words(value):
                    place = work_tree / word
                    if place.is_file():
                        yield place

    def _settings(self, folder: Path) -> list[tuple[str, str, str]]:
        """(file, lower-case name, value) of each setting that applies in a repository."""
        if self._git is None or not os.path.lexists(folder / "config"):
            return []
        before = self._said.get(folder)
        if before is not None and before[0] == _stamps([Path(origin) for origin, _, _ in before[1]], folder):
            return before[1]
        asked = [self._git, "--git-dir", str(folder), "config", "--list", "--show-origin", "--includes", "-z"]
        environ = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH", "XDG_CONFIG_HOME")}
        try:
            done = subprocess.run(
                with_default_signals(asked),
                cwd="/",
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_GIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        parts = os.fsdecode(done.stdout).split("\0")
        found = [
            (origin.removeprefix("file:"), name.lower(), value)
            for origin, (name, _, value) in zip(parts[::2], (one.partition("\n") for one in parts[1::2]), strict=False)
        ]
        self._said[folder] = _stamps([Path(origin) for origin, _, _ in found], folder), found
        return found


def _stamps(files: list[Path], folder: Path) -> tuple[object, ...]:
    """A value that changes when one of the files changes."""
    names = dict.fromkeys((*files, folder / "config", folder / "config.worktree"))
    return tuple(map(_stamp, names))


def _stamp(file: Path) -> tuple[str, int, int, int]:
    try:
        info = file.stat()
    except OSError:
        return str(file), 0, 0, 0
    return str(file), info.st_ino, info.st_size, info.st_mtime_ns


def _links(folder: Path) -> Iterator[Path]:
    """The targets of links in a repository."""
    for name in _LINKED:
        try:
            with os.scandir(folder / name) as scan:
                links = [Path(entry.path) for entry in scan if entry.is_symlink()]
        except OSError:
            continue
        yield from (link.parent / link.readlink() for link in links)
    if folder.is_symlink():
        yield folder.parent / folder.readlink()


def links_below(folder: Path) -> Iterator[Path]:
    """The target of a folder if it is a link, and the targets of the links in it."""
    if folder.is_symlink():
        yield folder.parent / folder.readlink()
    for inner, folders, files in os.walk(folder):
        links = (Path(inner, name) for name in (*folders, *files))
        yield from (link.parent / link.readlink() for link in links if link.is_symlink())


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command.removeprefix("!"))
    except ValueError:
        return command.removeprefix("!").split()


def _pointer(file: Path, mark: str) -> Path | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            text = os.fsdecode(opened.read(_MAX_POINTER_BYTES)).rstrip("\r\n")
    except OSError:
        return None
    return file.parent / text.removeprefix(mark).strip() if text.startswith(mark) and "\0" not in text else None
