"""Writes all files of a snapshot into a new folder, which no other process uses yet.

Nothing can be in the way there, and a killed process leaves a folder that is in use nowhere: so files are written under
their own names at once, and the folder being filled stays open. `restore` changes a workspace, which other processes
may use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.folders import opened
from rawko.workspace.names import Parts, to_text
from rawko.workspace.repository.objects import MODE_LINK, Objects
from rawko.workspace.restore.attributes import Attributes
from rawko.workspace.restore.check import failed
from rawko.workspace.restore.plan import Step

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def fill(folder: Path, steps: Iterable[Step], objects: Objects, attributes: Attributes) -> None:
    """Write the files of a plan.

    Args:
        steps: Sorted; none removes a file.

    Raises:
        WorkspaceError: The system refuses, or contents are damaged; files written so far remain.
    """
    attributes.begin()
    with _Current(folder) as current:
        for step in steps:
            assert step.after is not None
            try:
                data = objects.read(step.after.oid)
            except KeyError as error:
                path = to_text(step.path)
                raise WorkspaceError(
                    f"the contents of {path!r} are missing from the store: {error}", path=path
                ) from error
            try:
                parent, name = current.descriptor(step.parts[:-1]), step.parts[-1]
                if step.after.mode == MODE_LINK:
                    os.symlink(data, name, dir_fd=parent)
                else:
                    permissions = attributes.permissions(step.path, step.after.mode, None)
                    handle = os.open(name, _NEW, permissions, dir_fd=parent)
                    try:
                        attributes.give(handle, step.path, step.after.oid, permissions)
                        write_all(handle, data)
                    finally:
                        os.close(handle)
            except OSError as error:
                raise failed(step.parts, error) from error


def write_all(handle: int, data: bytes) -> None:
    """Write all data to an open file, in as many calls as necessary.

    Raises:
        OSError: The system refuses.
    """
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


class _Current:
    """The folder that is being filled, created if it does not exist."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._parts: Parts | None = None
        self._descriptor = -1
        self._held = ExitStack()

    def __enter__(self) -> _Current:
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def descriptor(self, parts: Parts) -> int:
        """The descriptor of a folder; closes the previous one."""
        if parts != self._parts:
            self._held.close()
            self._descriptor = self._held.enter_context(opened(self._root, parts, is_made=True))
            self._parts = parts
        return self._descriptor
