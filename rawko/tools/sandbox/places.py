"""What of a workspace git or rawko obeys, as it is now: found by one walk, without following links.

    .git  sub/.git  .rawko      by name, in any case, at any depth, whatever they are
    sub/{HEAD,objects,refs}     a bare repository
    closed/                     a folder that cannot be looked into

Looked for before each command, since the one before may have moved them, and after it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from rawko.tools.guarded import plain_name

Kind = Literal["named", "bare", "closed"]
Identity = tuple[int, int, str]
"""Device, inode, and the target of a link."""

NAMES: Final = frozenset((".git", ".rawko"))
"""As `plain_name` spells them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Something that is obeyed.

    Attributes:
        kind: By its name; a folder that is a bare repository; a folder that cannot be read.
    """

    path: Path
    kind: Kind
    identity: Identity


@dataclass(slots=True)
class Look:
    """One walk of a workspace.

    Attributes:
        folders: (device, inode) of all that were walked.
    """

    places: list[Place] = field(default_factory=list)
    folders: set[tuple[int, int]] = field(default_factory=set)


def look(root: Path) -> Look:
    """Walk a workspace.

    The root itself may be a bare repository; then it is a place, and walked nevertheless.
    """
    found = Look()
    todo = [str(root)]
    while todo:
        folder = todo.pop()
        try:
            info = os.lstat(folder)
            with os.scandir(folder) as scan:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in scan]
        except FileNotFoundError:  # it has gone in between
            continue
        except OSError:
            found.places += _closed(folder)
            continue
        found.folders.add((info.st_dev, info.st_ino))
        names = {name for name, _ in entries}
        is_bare = is_bare_repository(names)
        if is_bare:
            found.places += _place(folder, "bare")
        if is_bare and folder != str(root):
            continue
        for name, is_folder in entries:
            if is_obeyed(name):
                found.places += _place(f"{folder}/{name}" if folder != "/" else f"/{name}", "named")
            elif is_folder:
                todo.append(f"{folder}/{name}" if folder != "/" else f"/{name}")
    found.places.sort(key=lambda place: place.path)
    return found


def is_obeyed(name: str) -> bool:
    """Whether something of this name is obeyed, here or where names are compared without case."""
    return (name.lower() if name.isascii() else plain_name(name)) in NAMES


def is_bare_repository(names: set[str]) -> bool:
    """Whether git takes a folder that holds these names for a repository. More may be needed; none less is enough."""
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)


def identity_of(path: str | os.PathLike[str]) -> Identity | None:
    """Of what is there, a link itself and not what it leads to; None where nothing is."""
    try:
        info = os.lstat(path)
        target = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""  # noqa: PTH115
    except OSError:
        return None
    return info.st_dev, info.st_ino, target


def _place(path: str, kind: Kind) -> Iterator[Place]:
    identity = identity_of(path)
    if identity is not None:
        yield Place(Path(path), kind, identity)


def _closed(path: str) -> Iterator[Place]:
    """The folder; of a path that is too long for the system, the part of it that is not."""
    place = Path(path)
    while (identity := identity_of(place)) is None and place != place.parent:
        place = place.parent
    if identity is not None:
        yield Place(place, "closed", identity)
