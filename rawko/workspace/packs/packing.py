"""Writes objects of a repository as the bytes of one pack with its index, and puts such bytes into another repository.

8 bytes "rawkopk1" | 8 bytes: length of the pack | pack (git's format) | its index | SHA-256 of all before
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

import pygit2

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.packs.plain_pack import plain_pack
from rawko.workspace.packs.port import Pack
from rawko.workspace.repository.objects import Objects

_MAGIC: Final = b"rawkopk1"
FEW: Final = 32
"""Up to this many objects are packed in memory, without the folder that libgit2 writes to: a typical step adds few."""
_HEAD: Final = 16
_SUM: Final = 32


def pack_of(repository: pygit2.Repository, objects: Objects, oids: Collection[bytes]) -> bytes:
    """Objects as the bytes of one pack.

    Raises:
        WorkspaceError: An object is missing, or the disk is full.
    """
    try:
        found = plain_pack(objects, oids) if len(oids) <= FEW else None
        pack, index = found or _built_pack(repository, oids)
    except (pygit2.GitError, KeyError, OSError, StopIteration) as error:
        raise WorkspaceError(f"the snapshots cannot be packed: {error}") from error
    data = b"".join([_MAGIC, len(pack).to_bytes(8, "big"), pack, index])
    return data + hashlib.sha256(data).digest()


def _built_pack(repository: pygit2.Repository, oids: Collection[bytes]) -> tuple[bytes, bytes]:
    """A pack with its index, built by libgit2, which stores similar objects as deltas."""
    folder = Path(tempfile.mkdtemp(prefix="rawko-pack-"))
    try:
        builder = pygit2.PackBuilder(repository)
        for oid in sorted(oids):
            builder.add(pygit2.Oid(raw=oid))
        builder.write(str(folder))
        return next(folder.glob("*.pack")).read_bytes(), next(folder.glob("*.idx")).read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def file_name(run: str, pack: Pack) -> str:
    """The file name of a pack in a repository, without ending; callers use it to check whether the pack is there."""
    told = f"{run} {pack.epoch} {pack.number} {pack.level} {pack.head}"
    return f"pack-{hashlib.sha1(told.encode(), usedforsecurity=False).hexdigest()}"


def put_into(repository: pygit2.Repository, name: str, data: bytes, what: str) -> None:
    """Put a pack into a repository, under a name.

    Args:
        what: Describes the pack, for messages.

    Raises:
        WorkspaceError: The pack is damaged, or the repository cannot be written; nothing was added.
    """
    whole, found = data[:-_SUM], data[-_SUM:]
    length = int.from_bytes(whole[len(_MAGIC) : _HEAD], "big")
    if whole[: len(_MAGIC)] != _MAGIC or hashlib.sha256(whole).digest() != found or len(whole) < _HEAD + length:
        raise WorkspaceError(f"{what} is damaged: its sum does not fit")
    pack, index = whole[_HEAD : _HEAD + length], whole[_HEAD + length :]
    folder = Path(repository.path, "objects", "pack")
    try:
        folder.mkdir(exist_ok=True)
        # In this order: a reader that sees the index finds the pack
        for ending, content in ((".pack", pack), (".idx", index)):
            new = folder / f"tmp_{name}{ending}"
            with suppress(FileNotFoundError):
                new.unlink()
            new.write_bytes(content)
            new.chmod(0o400)
            new.replace(folder / f"{name}{ending}")
    except OSError as error:
        raise WorkspaceError(f"{what} cannot be written: {error.strerror}", path=str(folder)) from error
