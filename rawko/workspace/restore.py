"""Carrying out a plan on disk: removes and writes files so that no link leads out and no unseen edit is lost.

Every parent is opened from the workspace's own descriptor without following links. A file is replaced by renaming a
finished one over it, and only if it still looks as it did when it was captured. What is not in a plan is not touched:
neither its contents nor its times. Folders that become empty go.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.mirror import File, signature
from rawko.workspace.names import Parts, to_text
from rawko.workspace.objects import MODE_EXECUTABLE, MODE_LINK, Objects
from rawko.workspace.plan import Step, prefixes
from rawko.workspace.reader import Reader

TEMPORARY = b".rawko-restore-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Restorer:
    """Carries out plans in one workspace."""

    def __init__(self, root: Path, objects: Objects, reader: Reader) -> None:
        self._root = root
        self._objects = objects
        self._reader = reader
        self._second = 0

    # ------------------------------------------------------------ before

    def check(self, steps: Sequence[Step]) -> None:
        """Make sure that a plan harms nothing that is not in the store.

        Raises:
            WorkspaceError: A file has changed since it was captured, or something uncaptured is in the way.
        """
        removed = {step.parts for step in steps if step.before is not None}
        for step in steps:
            for above in prefixes(step.parts[:-1]):
                if step.after is not None and self._blocks(above, removed):
                    raise _in_the_way(above)
            self._check_end(step, removed)

    def _blocks(self, above: Parts, removed: set[Parts]) -> bool:
        """Whether a parent exists, is no folder, and is not going to be removed."""
        seen = self._lstat(above)
        return seen is not None and not stat.S_ISDIR(seen.st_mode) and above not in removed

    def _check_end(self, step: Step, removed: set[Parts]) -> None:
        seen = self._lstat(step.parts)
        if seen is None:
            return  # Gone is gone: there is no edit to lose.
        if stat.S_ISDIR(seen.st_mode):
            self._check_folder(step.parts, removed)
        elif not self._holds(step.parts, seen, step.before) and not self._holds(step.parts, seen, step.after):
            raise _changed(step.parts) if step.before is not None else _in_the_way(step.parts)

    def _check_folder(self, parts: Parts, removed: set[Parts]) -> None:
        """A folder where a file will be must hold nothing but what is removed."""
        with self._folder(parts) as descriptor:
            for name in os.listdir(descriptor):  # noqa: PTH208 - of a descriptor
                inner = (*parts, os.fsencode(name))
                seen = self._lstat(inner)
                if seen is not None and stat.S_ISDIR(seen.st_mode):
                    self._check_folder(inner, removed)
                elif inner not in removed:
                    raise _in_the_way(inner)

    def _holds(self, parts: Parts, seen: os.stat_result, file: File | None) -> bool:
        """Whether what is on disk is this captured file."""
        if file is None:
            return False
        if file.signature is not None and file.signature == signature(seen):
            return True
        with self._folder(parts[:-1]) as descriptor:
            found = self._reader.take(descriptor, parts[-1], seen, b"/".join(parts))
        return found is not None and found[:2] == file[:2]

    def _lstat(self, parts: Parts) -> os.stat_result | None:
        """What is at a path whose parents are all real folders; None where nothing is."""
        try:
            with self._folder(parts[:-1]) as descriptor:
                return os.stat(parts[-1], dir_fd=descriptor, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _failed(parts, error) from error

    # ------------------------------------------------------------ doing it

    def apply(self, steps: Sequence[Step], done: Callable[[Step, File | None], None]) -> None:
        """Carry out a checked plan, in order.

        Args:
            done: Told of each step that is done, with the file as it is now.

        Raises:
            WorkspaceError: The system refuses, or a folder was swapped meanwhile; steps before are done.
        """
        self._second = max(self._second, int(time.time())) + 1
        for step in steps:
            try:
                if step.after is None:
                    self._remove(step.parts)
                    done(step, None)
                else:
                    done(step, self._write(step.parts, step.after))
            except OSError as error:
                raise _failed(step.parts, error) from error

    def _remove(self, parts: Parts) -> None:
        try:
            with self._folder(parts[:-1]) as descriptor:
                os.unlink(parts[-1], dir_fd=descriptor)
        except FileNotFoundError:
            pass
        for above in reversed([*prefixes(parts[:-1])]):
            try:
                with self._folder(above[:-1]) as descriptor:
                    os.rmdir(above[-1], dir_fd=descriptor)
            except OSError:
                return  # Not empty, or gone already.

    def _write(self, parts: Parts, file: File) -> File:
        name = parts[-1]
        temporary = TEMPORARY + sha1(name, usedforsecurity=False).hexdigest()[:16].encode()
        data = self._objects.read(file.oid)
        with self._folder(parts[:-1], is_made=True) as descriptor:
            before = self._mode_of(descriptor, name)
            try:
                # A killed restore may have left one; the name is only ever ours.
                os.unlink(temporary, dir_fd=descriptor)
            except FileNotFoundError:
                pass
            try:
                if file.mode == MODE_LINK:
                    os.symlink(data, temporary, dir_fd=descriptor)
                else:
                    self._fill(descriptor, temporary, data, file.mode, before)
                self._make_room(descriptor, name, before)
                os.rename(temporary, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
            except BaseException:
                _discard(descriptor, temporary)
                raise
        return File(file.mode, file.oid)

    def _fill(self, folder: int, name: bytes, data: bytes, mode: int, before: int | None) -> None:
        handle = os.open(name, _NEW, 0o666, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            kept = before if before is not None and stat.S_ISREG(before) else os.fstat(handle).st_mode
            os.fchmod(handle, _permissions(mode, kept & 0o777))
            file.write(data)
            file.flush()
            # Whoever compares times by the second (compiled Python does) must see that this is another file.
            os.utime(handle, (self._second, self._second))

    @staticmethod
    def _mode_of(folder: int, name: bytes) -> int | None:
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    @staticmethod
    def _make_room(folder: int, name: bytes, before: int | None) -> None:
        """Remove the empty folders that stand where a file will be."""
        if before is not None and stat.S_ISDIR(before):
            _remove_empty(folder, name)

    @contextmanager
    def _folder(self, parts: Parts, *, is_made: bool = False) -> Iterator[int]:
        """A folder of the workspace, opened step by step from the root; no link is followed."""
        descriptor = os.open(self._root, _FOLDER)
        try:
            for name in parts:
                inner = _open_folder(descriptor, name, is_made)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


def _open_folder(above: int, name: bytes, is_made: bool) -> int:
    if is_made:
        try:
            os.mkdir(name, dir_fd=above)
        except FileExistsError:
            pass
    return os.open(name, _FOLDER, dir_fd=above)


def _remove_empty(above: int, name: bytes) -> None:
    descriptor = os.open(name, _FOLDER, dir_fd=above)
    try:
        for inner in os.listdir(descriptor):  # noqa: PTH208 - of a descriptor
            _remove_empty(descriptor, os.fsencode(inner))
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=above)


def _discard(folder: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


def _permissions(mode: int, kept: int) -> int:
    """The permissions that a file had, or a new one gets, with git's executable bit: all that a tree records."""
    return kept | (kept & 0o444) >> 2 if mode == MODE_EXECUTABLE else kept & ~0o111


def _changed(parts: Parts) -> WorkspaceError:
    path = to_text(b"/".join(parts))
    return WorkspaceError(
        f"{path!r} has changed since it was captured; nothing was restored. Capture the workspace and try again",
        path=path,
    )


def _in_the_way(parts: Parts) -> WorkspaceError:
    path = to_text(b"/".join(parts))
    return WorkspaceError(
        f"{path!r} is in the way and in no snapshot (ignored, too large or unreadable); nothing was restored."
        " Move it elsewhere and try again",
        path=path,
    )


def _failed(parts: Parts, error: OSError) -> WorkspaceError:
    path = to_text(b"/".join(parts))
    return WorkspaceError(f"{path!r} cannot be restored: {error.strerror}", path=path)
