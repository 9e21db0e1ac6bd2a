"""References of the private store as the files that they are: moved in place, and read without looking at all others.

libgit2 replaces the file of a reference by another one. The file system flushes such a file to the disk, which takes
several times as long as all else that a snapshot needs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pygit2

_WRITING: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_LENGTH: Final = 40
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def move_in_place(file: Path, commit: str, expected: str | None = None) -> bool:
    """Let a loose reference lead to a commit; False where there is no such file.

    It is one write of 41 bytes: a process that is killed has written all of them or none.

    Args:
        commit: 40 hex digits.
        expected: What it leads to so far; None: whatever it is.

    Raises:
        ValueError: It leads elsewhere.
        OSError: It cannot be written.
    """
    try:
        descriptor = os.open(file, _WRITING)
    except FileNotFoundError:
        return False
    try:
        found = os.pread(descriptor, _LENGTH + 2, 0).strip()
        if expected is not None and found != expected.encode():
            raise ValueError(f"somebody else moved it to {found.decode('ascii', 'replace')!r}")
        if len(found) != _LENGTH:  # not one of ours: libgit2 writes it anew
            return False
        os.pwrite(descriptor, f"{commit}\n".encode(), 0)
        return True
    finally:
        os.close(descriptor)


def move(repository: pygit2.Repository, name: str, commit: str) -> None:
    """Let a reference lead to a commit; it is made where there is none.

    Raises:
        OSError, pygit2.GitError: It cannot be written.
    """
    if not move_in_place(Path(repository.path, name), commit):
        repository.references.create(name, pygit2.Oid(hex=commit), force=True)


def targets(repository: pygit2.Repository, prefix: str) -> dict[str, str]:
    """The commits of all references of a folder, by their whole names.

    Args:
        prefix: With its slash at the end, as "refs/rawko/".

    Raises:
        pygit2.GitError, KeyError: One is damaged.
    """
    found = {}
    if not Path(repository.path, "packed-refs").exists():
        try:
            with os.scandir(Path(repository.path, prefix)) as listing:
                found = {one.name: Path(one).read_text("ascii").strip() for one in listing if one.is_file()}
        except (OSError, ValueError):
            found = {}
    if found and all(_COMMIT.fullmatch(commit) for commit in found.values()):
        return {f"{prefix}{name}": commit for name, commit in found.items() if not name.endswith(".lock")}
    # None yet, packed by a git program, or damaged: libgit2 knows.
    names = [name for name in repository.references if name.startswith(prefix)]
    return {name: str(repository.references[name].target) for name in names}
