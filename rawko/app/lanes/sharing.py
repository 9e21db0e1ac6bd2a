"""Brings files that no snapshot holds, such as `node_modules`, into the folder of a lane.

With a sandbox, in which commands can write only their own folder, shared files and folders are read-only symbolic
links. Without one they are copies, which a command may change. Where the file system supports it (Btrfs, XFS,
bcachefs), a copy shares its blocks with the original until one of them is written.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rawko.patterns.globs import rule_regex

_CLONE: Final = 0x40049409
"""The ioctl `FICLONE` of Linux: lets the second file share the blocks of the first."""
_GIT: Final = ".git"


class SharingStopped(Exception):
    """The sharing was stopped before all files were there."""


def shared_paths(workspace: Path, patterns: Sequence[str]) -> Iterator[str]:
    """Relative paths that match the patterns, without the content of matching folders. Links are not followed."""
    if not patterns:
        return
    named = re.compile("|".join(f"(?:{rule_regex(pattern)})" for pattern in patterns))
    yield from _named_in(workspace, "", named)


def _named_in(folder: Path, prefix: str, named: re.Pattern[str]) -> Iterator[str]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = prefix + entry.name
        if entry.name == _GIT:
            continue
        if named.fullmatch(path):
            yield path
        elif entry.is_dir(follow_symlinks=False):
            yield from _named_in(Path(entry.path), f"{path}/", named)


def share(
    workspace: Path,
    folder: Path,
    patterns: Sequence[str],
    *,
    is_linked: bool,
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Bring the matching files and folders into a lane's folder; existing files stay.

    Args:
        is_linked: Use symbolic links instead of copies.
        is_stopped: Called before each file; True stops the sharing.

    Returns:
        The relative paths that were added.

    Raises:
        OSError: A file cannot be read or written.
        SharingStopped: `is_stopped` returned True.
    """
    brought = []
    for path in shared_paths(workspace, patterns):
        if is_linked:
            done = _link(workspace / path, folder / path)
        else:
            done = _copy(workspace / path, folder / path, is_stopped)
        if done:
            brought.append(path)
    return tuple(brought)


def _link(source: Path, target: Path) -> bool:
    if os.path.lexists(target):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    return True


def _copy(source: Path, target: Path, is_stopped: Callable[[], bool]) -> bool:
    """Copy a file, a link, or a folder with its content but without `.git`; returns whether anything was added.

    Pipes, sockets and devices are left out.
    """
    if is_stopped():
        raise SharingStopped
    mode = source.lstat().st_mode
    if stat.S_ISDIR(mode):
        is_new = not os.path.lexists(target)
        target.mkdir(parents=True, exist_ok=True)
        children = [_copy(child, target / child.name, is_stopped) for child in source.iterdir() if child.name != _GIT]
        if is_new:
            shutil.copystat(source, target)
        return is_new or any(children)
    if os.path.lexists(target) or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(mode):
        target.symlink_to(source.readlink())
    else:
        copy_file(source, target)
    return True


def copy_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a file with its mode and times; the copy shares blocks with the original where the file system can."""
    with Path(source).open("rb") as old, Path(target).open("xb") as new:
        try:
            fcntl.ioctl(new.fileno(), _CLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, 1 << 20)
    shutil.copystat(source, target)
