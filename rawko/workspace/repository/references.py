"""Writes references of the private store in place, and reads single ones without scanning all others.

libgit2 writes a new file for a changed reference and renames it. The file system flushes such a file to the disk, which
takes several times as long as the rest of a snapshot.
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
    """Point a loose reference to a commit; False if its file does not exist.

    Writes 41 bytes in one call: a killed process has written all of them or none.

    Args:
        commit: 40 hex digits.
        expected: The commit that it must point to before; None: any.

    Raises:
        ValueError: It points to another commit.
        OSError: The file cannot be written.
    """
    try:
        descriptor = os.open(file, _WRITING)
    except FileNotFoundError:
        return False
    try:
        found = os.pread(descriptor, _LENGTH + 2, 0).strip()
        if expected is not None and found != expected.encode():
            raise ValueError(f"somebody else moved it to {found.decode('ascii', 'replace')!r}")
        if len(found) != _LENGTH:  # not written here: let libgit2 replace it
            return False
        os.pwrite(descriptor, f"{commit}\n".encode(), 0)
        return True
    finally:
        os.close(descriptor)


def move(repository: pygit2.Repository, name: str, commit: str) -> None:
    """Point a reference to a commit; creates the reference if it does not exist.

    Raises:
        OSError, pygit2.GitError: The reference cannot be written.
    """
    if not move_in_place(Path(repository.path, name), commit):
        repository.references.create(name, pygit2.Oid(hex=commit), force=True)


def targets(repository: pygit2.Repository, prefix: str) -> dict[str, str]:
    """The commits of all references in a folder, by full name.

    Args:
        prefix: With a trailing slash, as "refs/rawko/".

    Raises:
        pygit2.GitError, KeyError: A reference is damaged.
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
    # None yet, packed by a git program, or damaged: let libgit2 read them.
    names = [name for name in repository.references if name.startswith(prefix)]
    return {name: str(repository.references[name].target) for name in names}
