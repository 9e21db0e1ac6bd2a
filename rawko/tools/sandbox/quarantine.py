"""Moves files out of the workspace after a command: new ones that git or rawko would obey.

    sub/.git                    moved whole, to a folder of the state folder
    sub/{HEAD,objects,refs}     a new folder is moved whole; of an old one, only the files that make it a repository
    .git -> store, replaced     the replacement is moved out, the link is restored

No process of the command runs any more, so the workspace does not change meanwhile. The tool's result names what was
moved out. A file that cannot be moved is deleted.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rawko.processes.private import make_private
from rawko.tools.sandbox.baseline import Baseline, drop, where
from rawko.tools.sandbox.places import Place, Scan, identity_of, scan
from rawko.tools.text import printed

_MAX_TOLD: Final = 20
_REPOSITORY: Final = ("HEAD", "commondir")
"""A folder without these is not a repository, whatever else it holds."""


class Quarantine:
    """Moves new obeyed files into a folder, and restores replaced links.

    Args:
        folder: In the state folder; made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def settle(self, before: Baseline) -> list[str]:
        """Move out what is new and restore what was replaced; returns lines for the model."""
        drop(before.placeholders)
        told: list[str] = []
        opened: list[tuple[str, int]] = []
        try:
            after = _scan_all(before, opened)
            for path in _new_places(before, after):
                told.append(self._take_out(path, before.root))
            told += _put_back(before)
        finally:
            for folder, mode in reversed(opened):
                _change_mode(folder, mode)
        more = [f"[… and {len(told) - _MAX_TOLD} more]"] if len(told) > _MAX_TOLD else []
        return told[:_MAX_TOLD] + more

    def _take_out(self, path: Path, root: Path) -> str:
        shown = printed(str(path.relative_to(root)))
        why = f"[{shown!r} is obeyed by {'rawko' if '.rawko' in path.name.lower() else 'git'} later, and was new"
        try:
            kept = self._room() / path.name
            _move(path, kept)
        except OSError as error:
            _remove(path)
            if os.path.lexists(path):
                return f"{why}; it could NOT be removed ({error.strerror}): do not use git or rawko there]"
            return f"{why}; it was removed, since it could not be kept ({error.strerror})]"
        return f"{why}: it was moved out of the workspace, to {kept}]"

    def _room(self) -> Path:
        make_private(self._folder)
        number = 1 + max((int(one.name) for one in self._folder.iterdir() if one.name.isdecimal()), default=0)
        while True:
            try:
                (self._folder / f"{number:06d}").mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                continue
            return self._folder / f"{number:06d}"


def _scan_all(before: Baseline, opened: list[tuple[str, int]]) -> Scan:
    """Walk the workspace, including folders that the command has closed; appends those and their modes to `opened`."""
    known = {place.identity for place in before.places if place.kind == "closed"}
    tried: set[Path] = set()
    while True:
        after = scan(before.root)
        closed = [place for place in after.places if place.kind == "closed" and place.identity not in known]
        to_open = [place for place in closed if place.path not in tried]
        if not to_open:
            return after
        for place in to_open:
            tried.add(place.path)
            mode = stat.S_IMODE(os.lstat(place.path).st_mode)
            if mode & 0o700 != 0o700 and _change_mode(str(place.path), mode | 0o700):
                opened.append((str(place.path), mode))


def _new_places(before: Baseline, after: Scan) -> Iterator[Path]:
    """The new paths that are obeyed, reduced to the files that must go."""
    known = {place.identity for place in before.places}
    for place in after.places:
        if place.identity in known or place.path in before.placeholders:
            continue
        was_there = before.folders is None or place.identity[:2] in before.folders
        if place.kind == "bare" and (place.path == before.root or was_there):
            yield from (place.path / name for name in _REPOSITORY if os.path.lexists(place.path / name))
        else:
            yield place.path
    for path, identity in before.paths.items():
        if where(path) not in (None, identity) and identity_of(path) not in known:
            yield path


def _put_back(before: Baseline) -> Iterator[str]:
    """Restore links that were removed or replaced: a mount cannot protect a link."""
    for place in before.places:
        target = place.identity[2]
        if target and not os.path.lexists(place.path) and place.path.parent.is_dir() and not _is_moved(place, before):
            try:
                place.path.symlink_to(target)
            except OSError:
                continue
            yield f"[the link {printed(str(place.path.relative_to(before.root)))!r} was removed, and is put back]"


def _is_moved(place: Place, before: Baseline) -> bool:
    """Whether the link exists below another folder, because its folder was renamed."""
    return any(one.identity == place.identity for one in scan(before.root).places)


def _move(path: Path, kept: Path) -> None:
    _change_mode(str(path), 0o700)
    parent = path.parent
    mode = stat.S_IMODE(parent.lstat().st_mode)
    is_shut = mode & 0o300 != 0o300 and _change_mode(str(parent), mode | 0o300)
    try:
        path.rename(kept)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(path, kept)
        _remove(path)
        if os.path.lexists(path):
            raise
    finally:
        if is_shut:
            _change_mode(str(parent), mode)


def _copy(path: Path, kept: Path) -> None:
    """Copy to another file system: files, folders and links; other kinds of files are left out."""
    if path.is_symlink():
        kept.symlink_to(path.readlink())
    elif path.is_dir():
        shutil.copytree(path, kept, symlinks=True, ignore=_special)
    elif path.is_file():
        shutil.copy2(path, kept)


def _special(folder: str, names: list[str]) -> set[str]:
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}  # noqa: PTH118
    return {
        name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    }


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for folder, _, _ in os.walk(path):
        _change_mode(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)


def _change_mode(path: str, mode: int) -> bool:
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            return False
        os.chmod(path, mode)  # noqa: PTH101
    except OSError:
        return False
    return True
