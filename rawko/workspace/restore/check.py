"""Checks whether a plan may be carried out: no file may be lost that is in no snapshot.

It only reads, and raises before the first file is changed. `restore` carries out the plan.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.capture.mirror import File, signature
from rawko.workspace.capture.reader import Reader
from rawko.workspace.folders import opened
from rawko.workspace.names import Parts, to_text
from rawko.workspace.restore.plan import Step, prefixes


class Checker:
    """Checks plans against one workspace."""

    def __init__(self, root: Path, reader: Reader) -> None:
        self._root = root
        self._reader = reader

    def check(self, steps: Sequence[Step]) -> None:
        """Check that a plan overwrites or removes only contents that are in the store.

        Raises:
            WorkspaceError: A file has changed since it was captured, or an uncaptured file is in the way.
        """
        # Paths whose captured file is removed or replaced.
        removed = {step.parts for step in steps if step.before is not None}
        for step in steps:
            for above in prefixes(step.parts[:-1]):
                if step.after is not None and self._blocks(above, removed):
                    raise _is_in_the_way(above)
            self._check_end(step, removed)

    def _blocks(self, above: Parts, removed: set[Parts]) -> bool:
        """Whether a parent exists, is no folder, and will not be removed."""
        seen = self._lstat(above)
        return seen is not None and not stat.S_ISDIR(seen.st_mode) and above not in removed

    def _check_end(self, step: Step, removed: set[Parts]) -> None:
        seen = self._lstat(step.parts)
        if seen is None:
            return  # Nothing there: no edit can be lost.
        if stat.S_ISDIR(seen.st_mode):
            self._check_folder(step.parts, removed)
        elif not self._holds(step.parts, seen, step.before) and not self._holds(step.parts, seen, step.after):
            raise _has_changed(step.parts) if step.before is not None else _is_in_the_way(step.parts)

    def _check_folder(self, parts: Parts, removed: set[Parts]) -> None:
        """Check that a folder, in whose place a file will be, contains only files that will be removed."""
        with opened(self._root, parts) as descriptor:
            for name in os.listdir(descriptor):  # noqa: PTH208 - of a descriptor
                inner = (*parts, os.fsencode(name))
                seen = self._lstat(inner)
                if seen is not None and stat.S_ISDIR(seen.st_mode):
                    self._check_folder(inner, removed)
                elif inner not in removed:
                    raise _is_in_the_way(inner)

    def _holds(self, parts: Parts, seen: os.stat_result, file: File | None) -> bool:
        """Whether the file on disk is this captured file."""
        if file is None:
            return False
        if file.signature is not None and file.signature == signature(seen):
            return True
        with opened(self._root, parts[:-1]) as descriptor:
            found = self._reader.take(descriptor, parts[-1], seen, b"/".join(parts))
        return found is not None and found[:2] == file[:2]

    def _lstat(self, parts: Parts) -> os.stat_result | None:
        """The lstat result of a path whose parents are all real folders; None if there is nothing."""
        try:
            with opened(self._root, parts[:-1]) as descriptor:
                return os.stat(parts[-1], dir_fd=descriptor, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise failed(parts, error) from error


def _has_changed(parts: Parts) -> WorkspaceError:
    path = to_text(b"/".join(parts))
    return WorkspaceError(
        f"{path!r} has changed since it was captured; nothing was restored. Capture the workspace and try again",
        path=path,
    )


def _is_in_the_way(parts: Parts) -> WorkspaceError:
    path = to_text(b"/".join(parts))
    return WorkspaceError(
        f"{path!r} is in the way and in no snapshot (ignored, too large or unreadable); nothing was restored."
        " Move it elsewhere and try again",
        path=path,
    )


def failed(parts: Parts, error: OSError) -> WorkspaceError:
    """The system's error as a WorkspaceError."""
    path = to_text(b"/".join(parts))
    return WorkspaceError(f"{path!r} cannot be restored: {error.strerror}", path=path)
