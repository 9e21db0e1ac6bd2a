"""Carries out a checked plan on disk: removes and writes files without following links out of the workspace.

Every parent is opened from the root without following links. A file is replaced by renaming a finished one over it.
Files outside the plan are not touched, nor are their times. Folders that become empty are removed. `check` checks the
plan before.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from hashlib import sha1
from pathlib import Path

from rawko.workspace.capture.mirror import File
from rawko.workspace.folders import OPEN_FOLDER, opened
from rawko.workspace.names import Parts
from rawko.workspace.repository.objects import MODE_LINK, Objects
from rawko.workspace.restore.attributes import Attributes
from rawko.workspace.restore.check import failed
from rawko.workspace.restore.fill import write_all
from rawko.workspace.restore.plan import Step, prefixes

TEMPORARY = b".rawko-restore-"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Restorer:
    """Carries out plans in one workspace."""

    def __init__(self, root: Path, objects: Objects, attributes: Attributes) -> None:
        self._root = root
        self._objects = objects
        self._attributes = attributes
        self._second = 0

    def apply(self, steps: Sequence[Step], done: Callable[[Step, File | None], None]) -> None:
        """Carry out a checked plan, in order.

        Args:
            done: Called after each step, with the file as it is now.

        Raises:
            WorkspaceError: The system refuses, or a folder was swapped meanwhile; earlier steps remain done.
        """
        self._second = max(self._second, int(time.time())) + 1
        self._attributes.begin()
        for step in steps:
            try:
                if step.after is None:
                    self._remove(step.parts)
                    done(step, None)
                else:
                    done(step, self._write(step.parts, step.after))
            except OSError as error:
                raise failed(step.parts, error) from error

    def _remove(self, parts: Parts) -> None:
        try:
            with opened(self._root, parts[:-1]) as descriptor:
                os.unlink(parts[-1], dir_fd=descriptor)
        except (FileNotFoundError, NotADirectoryError):
            pass  # Already gone.
        for above in reversed([*prefixes(parts[:-1])]):
            try:
                with opened(self._root, above[:-1]) as descriptor:
                    os.rmdir(above[-1], dir_fd=descriptor)
            except OSError:
                return  # Not empty, or already gone.

    def _write(self, parts: Parts, file: File) -> File:
        name = parts[-1]
        temporary = TEMPORARY + sha1(name, usedforsecurity=False).hexdigest()[:16].encode()
        data = self._objects.read(file.oid)
        with opened(self._root, parts[:-1], is_made=True) as descriptor:
            before = self._mode_of(descriptor, name)
            try:
                # A killed restore may have left one; no other program uses this name.
                os.unlink(temporary, dir_fd=descriptor)
            except FileNotFoundError:
                pass
            try:
                if file.mode == MODE_LINK:
                    os.symlink(data, temporary, dir_fd=descriptor)
                else:
                    kept = before if before is not None and stat.S_ISREG(before) else None
                    self._fill(descriptor, temporary, data, b"/".join(parts), file, kept, name)
                self._make_room(descriptor, name, before)
                os.rename(temporary, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
            except BaseException:
                _discard(descriptor, temporary)
                raise
        return File(file.mode, file.oid)

    def _fill(
        self, folder: int, temporary: bytes, data: bytes, path: bytes, file: File, before: int | None, name: bytes
    ) -> None:
        permissions = self._attributes.permissions(path, file.mode, before)
        handle = os.open(temporary, _NEW, permissions, dir_fd=folder)
        try:
            self._attributes.give(handle, path, file.oid, permissions)
            write_all(handle, data)
            # Programs that compare times by the second (compiled Python does) must see a different file.
            second = self._second + (self._second == self._second_of(folder, name))
            os.utime(handle, (second, second))
        finally:
            os.close(handle)

    @staticmethod
    def _mode_of(folder: int, name: bytes) -> int | None:
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    @staticmethod
    def _second_of(folder: int, name: bytes) -> int | None:
        """The time of the file to replace, which another process may have set to the second that we would use."""
        try:
            return int(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime)
        except FileNotFoundError:
            return None

    @staticmethod
    def _make_room(folder: int, name: bytes, before: int | None) -> None:
        """Remove empty folders in the place of a file."""
        if before is not None and stat.S_ISDIR(before):
            _remove_empty(folder, name)


def _remove_empty(above: int, name: bytes) -> None:
    descriptor = os.open(name, OPEN_FOLDER, dir_fd=above)
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
