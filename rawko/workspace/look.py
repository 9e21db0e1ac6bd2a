"""Looking at the disk: brings the mirror up to date, by a full look or at the places that a tool touched.

Every folder is opened from its parent's descriptor without following links, so a folder that is swapped for a link
during the look is never entered. Files that look as they did when they were read are not read again. What is ignored
is `ignore`'s, how a file is read is `reader`'s.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.ignore import IGNORE_FILE, RULES, Repositories, Scope
from rawko.workspace.mirror import File, Folder, Mirror, signature
from rawko.workspace.names import MAX_DEPTH, Parts, is_git_name
from rawko.workspace.objects import Objects
from rawko.workspace.reader import Counters, Reader, refuse_if_ours

_ENCODING = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder during a look: where it is, and the rules there. `prefix` ends in `/` or is empty."""

    prefix: bytes
    scope: Scope
    depth: int = 0


class Looker:
    """Looks at one workspace.

    Args:
        root: The workspace, without links in its path.
        excluded: Folders that are never entered, from the root.
        max_file_bytes: Larger files are skipped.

    Attributes:
        skipped: Paths that were found and not captured: unreadable, too large, too deep.
    """

    def __init__(self, root: Path, objects: Objects, *, excluded: frozenset[Parts], max_file_bytes: int) -> None:
        self.counters = Counters()
        self.skipped: set[bytes] = set()
        self._root = root
        self._excluded = frozenset(b"/".join(parts) for parts in excluded)
        self.reader = Reader(objects, counters=self.counters, skip=self.skipped.add, max_file_bytes=max_file_bytes)
        self._repositories = Repositories()

    def everything(self, mirror: Mirror) -> None:
        """Bring the whole mirror up to date."""
        with self._open_root() as root:
            self.skipped.clear()
            self._look(root, mirror.root, _Place(b"", self._repositories.above(self._root)))

    def touched(self, mirror: Mirror, paths: Sequence[Parts]) -> None:
        """Bring the mirror up to date at these paths and beneath them, without listing any other folder.

        A file named here is captured even if it is ignored. A link is captured, and so is what it leads to inside
        the workspace: who wrote through it changed that.
        """
        with self._open_root() as root:
            todo, done = list(paths), set[Parts]()
            while todo:
                parts = todo.pop()
                if parts and parts[-1] == IGNORE_FILE:
                    todo.append(parts[:-1])
                if parts not in done:
                    done.add(parts)
                    todo += self._touch(root, mirror.root, parts)

    @contextmanager
    def _open_root(self) -> Iterator[int]:
        try:
            descriptor = os.open(self._root, _FOLDER)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise WorkspaceError(
                f"the workspace {str(self._root)!r} cannot be read: {error.strerror}", path=str(self._root)
            ) from error

    # ------------------------------------------------------------ a full look

    def _look(self, descriptor: int, folder: Folder, place: _Place) -> bool:
        """Bring a folder up to date; whether anything in it changed."""
        self.counters.scans += 1
        with os.scandir(descriptor) as listing:
            rest, missing = _unlike(folder, listing)
        names = {name for name, _ in rest} | ({IGNORE_FILE} & folder.files.keys())
        if not names.isdisjoint(RULES):
            where = self._root / os.fsdecode(place.prefix)
            scope = self._repositories.enter(place.scope, where, descriptor, names)
            place = _Place(place.prefix, scope, place.depth)
        is_changed = False
        for name, entry in rest:
            if is_git_name(name):
                is_changed |= folder.forget(name)
            elif entry.is_dir(follow_symlinks=False):
                is_changed |= self._look_at_folder(descriptor, folder, place, name)
            else:
                is_changed |= self._look_at_file(descriptor, folder, place, name, entry)
        for name in missing:
            is_changed |= folder.forget(name)
        if is_changed:
            folder.oid = None
        return is_changed

    def _look_at_folder(self, descriptor: int, folder: Folder, place: _Place, name: bytes) -> bool:
        path = place.prefix + name
        was_file = folder.files.pop(name, None) is not None
        if path in self._excluded:
            return folder.forget(name) or was_file
        child = folder.folders.get(name)
        is_ignored = place.scope.ignores(name, True)
        if is_ignored and child is None and not place.scope.tracks(name, True):
            return was_file
        child = child or Folder()
        below = _Place(path + b"/", place.scope.child(name, is_ignored), place.depth + 1)
        is_changed = self._enter(descriptor, child, below, name)
        if is_changed is None or child.is_empty:
            return folder.forget(name) or was_file
        folder.folders[name] = child
        return is_changed or was_file

    def _enter(self, parent: int, folder: Folder, place: _Place, name: bytes) -> bool | None:
        """Look at a folder in an open one; None where it cannot be entered."""
        if place.depth > MAX_DEPTH:
            self.skipped.add(place.prefix[:-1])
            return None
        try:
            descriptor = os.open(name, _FOLDER, dir_fd=parent)
            try:
                return self._look(descriptor, folder, place)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            # What goes wrong in the store is never an OSError here: `objects` makes it a WorkspaceError.
            refuse_if_ours(error)
            self.skipped.add(place.prefix[:-1])
            return None

    def _look_at_file(
        self, descriptor: int, folder: Folder, place: _Place, name: bytes, entry: os.DirEntry[str]
    ) -> bool:
        known = folder.files.get(name)
        if known is None and place.scope.ignores(name, False) and not place.scope.tracks(name, False):
            return folder.forget(name)
        try:
            seen = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return folder.forget(name)
        except OSError:
            self.skipped.add(place.prefix + name)
            return folder.forget(name)
        return self._put(folder, name, self.reader.take(descriptor, name, seen, place.prefix + name))

    @staticmethod
    def _put(folder: Folder, name: bytes, file: File | None) -> bool:
        """Set or drop a file of the mirror; whether the tree changes by it."""
        if file is None:
            return folder.forget(name)
        known = folder.files.get(name)
        folder.folders.pop(name, None)
        folder.files[name] = file
        return known is None or known[:2] != file[:2]

    # ------------------------------------------------------------ a look at one path

    def _touch(self, root: int, folder: Folder, parts: Parts) -> list[Parts]:
        """Bring the mirror up to date at one path; what else to look at, because links lead there."""
        if not parts:
            self.skipped.clear()
            self._look(root, folder, _Place(b"", self._repositories.above(self._root)))
            return []
        chain = [folder]
        descriptor = os.dup(root)
        try:
            for depth, name in enumerate(parts):
                path = b"/".join(parts[: depth + 1])
                if is_git_name(name) or path in self._excluded:
                    return []
                self.skipped.discard(path)
                try:
                    seen = self._stat(descriptor, name)
                    is_last = depth == len(parts) - 1 or depth >= MAX_DEPTH
                    if seen is None or not stat.S_ISDIR(seen.st_mode) or is_last:
                        self._touch_end(descriptor, chain[-1], parts[: depth + 1], seen)
                        is_link = seen is not None and stat.S_ISLNK(seen.st_mode)
                        return self._behind_link(path, parts[depth + 1 :]) if is_link else []
                    inner = os.open(name, _FOLDER, dir_fd=descriptor)
                except OSError as error:
                    refuse_if_ours(error)
                    self.skipped.add(path)
                    chain[-1].forget(name)
                    return []
                chain[-1].files.pop(name, None)
                chain.append(chain[-1].folders.setdefault(name, Folder()))
                os.close(descriptor)
                descriptor = inner
            return []
        finally:
            os.close(descriptor)
            for above in chain:
                above.oid = None

    def _stat(self, descriptor: int, name: bytes) -> os.stat_result | None:
        """What a name in an open folder is; None where there is nothing."""
        self.counters.stats += 1
        try:
            return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise

    def _touch_end(self, descriptor: int, folder: Folder, parts: Parts, seen: os.stat_result | None) -> None:
        """What the walk along a touched path ends at: a file, a folder to look through, or nothing."""
        name, path = parts[-1], b"/".join(parts)
        self.skipped.difference_update([one for one in self.skipped if one.startswith(path + b"/")])
        if seen is None:
            folder.forget(name)
        elif stat.S_ISDIR(seen.st_mode):
            place = _Place(b"/".join(parts[:-1]) + b"/" * (len(parts) > 1), self._scope(parts[:-1]), len(parts) - 1)
            self._look_at_folder(descriptor, folder, place, name)
        else:
            self._put(folder, name, self.reader.take(descriptor, name, seen, path))

    def _scope(self, parts: Parts) -> Scope:
        """The rules that reach a folder: those of every folder on the way."""
        scope = self._repositories.above(self._root)
        folder = self._root
        for name in (None, *parts):
            if name is not None:
                scope = scope.child(name, scope.ignores(name, True))
                folder /= os.fsdecode(name)
            with _opened(folder) as descriptor:
                if descriptor is None:
                    return scope
                names = [own for own in RULES if self._stat(descriptor, own) is not None]
                scope = self._repositories.enter(scope, folder, descriptor, names)
        return scope

    def _behind_link(self, link: bytes, rest: Parts) -> list[Parts]:
        """The path inside the workspace that a link leads to, if it leads inside."""
        try:
            target = self._root.joinpath(os.fsdecode(b"/".join((link, *rest)))).resolve()
        except (OSError, RuntimeError):
            return []  # A loop of links leads nowhere.
        if not target.is_relative_to(self._root):
            return []
        return [tuple(os.fsencode(part) for part in target.relative_to(self._root).parts)]


def _unlike(
    folder: Folder, listing: Iterable[os.DirEntry[str]]
) -> tuple[list[tuple[bytes, os.DirEntry[str]]], list[bytes]]:
    """What in a listing is not a captured file that looks as it did; and captured names that are not there.

    Nearly all files of a look end here, so the loop is spelt out: it is most of what a look costs.
    """
    rest: list[tuple[bytes, os.DirEntry[str]]] = []
    same: list[bytes] = []
    files, (encoding, errors) = folder.files, _ENCODING
    for entry in listing:
        name = entry.name.encode(encoding, errors)
        if name in files:
            try:
                seen = entry.stat(follow_symlinks=False)
                if files[name][2] == signature(seen):
                    same.append(name)
                    continue
            except OSError:
                pass  # It vanished since it was listed, or the folder may be listed only: the caller finds out.
        rest.append((name, entry))
    if len(same) == len(files) and not folder.folders:
        return rest, []
    found = {*same, *(name for name, _ in rest)}
    return rest, [name for name in (*files, *folder.folders) if name not in found]


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
