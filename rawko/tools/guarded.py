"""What of a workspace no file tool writes: what `.git` and `.rawko` lead to, under whatever name.

    .rawko -> cfg                  cfg and all in it, also while there is no cfg
    .rawko/config.yaml -> ../c     c
    .git: "gitdir: store"          store and all in it
    .rawko -> .                    everything
    fixtures/bare.git              a folder with git's own files is git's, whatever its name

Names and links only; that a file tool never writes through a hard link is `files`'s.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

GIT_DATA: Final = "git's own data; use git commands in bash to change a repository"
RULES: Final = "rawko's own configuration; a run cannot rewrite its own rules"

_MAX_RULES: Final = 5000
"""Files and folders of `.rawko` whose links are looked at."""
_MAX_POINTER_BYTES: Final = 8192


@dataclass(frozen=True, slots=True)
class Guarded:
    """Places that are not written.

    Attributes:
        paths: Workspace-relative, links followed, as `plain_path` spells them, and what each holds.
        files: (device, inode) of those that exist, and what each holds.
    """

    paths: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[tuple[int, int], str], ...] = ()

    def what(self, real: str, info: os.stat_result | None) -> str | None:
        """What a place holds that guards it; None where it may be written.

        Args:
            real: Workspace-relative, links followed.
            info: Of what is there; None where nothing is.
        """
        plain = plain_path(real)
        for path, held in self.paths:
            if path in (".", plain) or plain.startswith(path + "/"):
                return held
        if info is None or (info.st_nlink > 1 and stat.S_ISREG(info.st_mode)):
            # A second name of a guarded file is replaced, not written through.
            return None
        return dict(self.files).get((info.st_dev, info.st_ino))


def find_guarded(root: Path) -> Guarded:
    """What is guarded in a workspace now. Looked for before every write, since the links may have changed."""
    paths: list[tuple[str, str]] = []
    files: list[tuple[tuple[int, int], str]] = []
    for place, held in islice(_places(root), _MAX_RULES):
        real = Path(os.path.realpath(place))
        if real.is_relative_to(root):
            paths.append((plain_path(real.relative_to(root).as_posix()), held))
        try:
            info = real.stat()
        except OSError:
            continue
        if real != root:
            files.append(((info.st_dev, info.st_ino), held))
    return Guarded(tuple(dict.fromkeys(paths)), tuple(dict.fromkeys(files)))


def _places(root: Path) -> Iterator[tuple[Path, str]]:
    git = root / ".git"
    yield git, GIT_DATA
    yield from ((folder, GIT_DATA) for folder in _pointed(git))
    yield root / ".rawko", RULES
    seen: set[str] = set()
    for folder, folders, files in islice(os.walk(root / ".rawko", followlinks=True), _MAX_RULES):
        real = os.path.realpath(folder)
        if real in seen or root.is_relative_to(real):
            folders.clear()
            continue
        seen.add(real)
        links = (Path(folder, name) for name in (*folders, *files))
        yield from ((link, RULES) for link in links if link.is_symlink())


def _pointed(git: Path) -> Iterator[Path]:
    """Where a `.git` that is a file says the repository is, and where that says its common part is."""
    folder = _pointer(git, "gitdir:") if git.is_file() else git
    if folder is not None:
        yield folder
        common = _pointer(folder / "commondir", "")
        if common is not None:
            yield common


def _pointer(file: Path, mark: str) -> Path | None:
    try:
        with file.open("rb") as opened:
            text = os.fsdecode(opened.read(_MAX_POINTER_BYTES)).rstrip("\r\n")
    except OSError:
        return None
    return file.parent / text.removeprefix(mark).strip() if text.startswith(mark) and "\0" not in text else None


def is_git_folder(fd: int) -> bool:
    """Whether git would take a folder for a repository: HEAD, and objects and refs or a pointer to them."""

    def holds(name: str) -> bool:
        try:
            os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    return holds("HEAD") and (holds("commondir") or (holds("objects") and holds("refs")))


def plain_path(path: str) -> str:
    """Each name as `plain_name` has it."""
    return "/".join(map(plain_name, path.split("/")))


def plain_name(name: str) -> str:
    """The name as a case-folding, Unicode-ignoring file system (macOS) would take it: `.GIT` is `.git` there."""
    kept = (character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", "".join(kept)).casefold()
