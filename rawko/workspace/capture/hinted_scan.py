"""A look at the places that a tool says it touched, at a cost that does not grow with the workspace.

It brings the mirror up to date along these paths, and lists a folder only where the path itself is one. A full look
is `look`'s.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from rawko.patterns.exclusions import MAX_DEPTH, is_git_name
from rawko.workspace.capture.full_scan import Looker, Place
from rawko.workspace.capture.ignore import IGNORE_FILE, RULES, Scope
from rawko.workspace.capture.mirror import Folder, Mirror
from rawko.workspace.capture.reader import refuse_if_ours
from rawko.workspace.folders import OPEN_FOLDER, opened
from rawko.workspace.names import Parts


class Toucher:
    """Looks at single paths of the workspace that its looker looks at."""

    def __init__(self, looker: Looker) -> None:
        self._looker = looker

    def touched(self, mirror: Mirror, paths: Sequence[Parts]) -> None:
        """Bring the mirror up to date at these paths and beneath them, without listing any other folder.

        A file named here is captured even if it is ignored. A link is captured, and so is what it leads to inside
        the workspace: who wrote through it changed that. Where rules changed, what they rule is looked through.
        """
        with self._looker.open_root() as root:
            todo, done = list(paths), set[Parts]()
            while todo:
                parts = todo.pop()
                if parts and parts[-1] == IGNORE_FILE:
                    todo.append(parts[:-1])
                if parts not in done:
                    done.add(parts)
                    todo += self._touch(root, mirror.root, parts)

    def _touch(self, root: int, folder: Folder, parts: Parts) -> list[Parts]:
        """Bring the mirror up to date at one path; what else to look at, because links lead there."""
        if not parts:
            self._looker.look_at_all(root, folder)
            return []
        chain = [folder]
        descriptor = os.dup(root)
        try:
            for depth, name in enumerate(parts):
                path = b"/".join(parts[: depth + 1])
                if is_git_name(name) or path in self._looker.excluded:
                    return []
                self._looker.skipped.discard(path)
                try:
                    seen = self._stat(descriptor, name)
                    is_last = depth == len(parts) - 1 or depth >= MAX_DEPTH
                    if seen is None or not stat.S_ISDIR(seen.st_mode) or is_last:
                        self._touch_end(descriptor, chain[-1], parts[: depth + 1], seen)
                        is_link = seen is not None and stat.S_ISLNK(seen.st_mode)
                        return self._behind_link(path, parts[depth + 1 :]) if is_link else []
                    inner = os.open(name, OPEN_FOLDER, dir_fd=descriptor)
                except OSError as error:
                    is_known = name in chain[-1].files or name in chain[-1].folders
                    refuse_if_ours(error, path, is_known=is_known)
                    self._looker.skipped.add(path)
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
        self._looker.counters.stats += 1
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
        self._looker.skipped.difference_update([one for one in self._looker.skipped if one.startswith(path + b"/")])
        if seen is None:
            folder.forget(name)
        elif stat.S_ISDIR(seen.st_mode):
            place = Place(b"/".join(parts[:-1]) + b"/" * (len(parts) > 1), self._scope(parts[:-1]), len(parts) - 1)
            self._looker.look_at_folder(descriptor, folder, place, name)
        else:
            is_known = name in folder.files
            taken = self._looker.reader.take(descriptor, name, seen, path, is_known=is_known)
            self._looker.put(folder, name, taken)

    def _scope(self, parts: Parts) -> Scope:
        """The rules that reach a folder: those of every folder on the way."""
        root, repositories = self._looker.root, self._looker.repositories
        scope = repositories.above(root)
        for length in range(len(parts) + 1):
            if length:
                scope = scope.child(parts[length - 1], scope.ignores(parts[length - 1], True))
            where = root / os.fsdecode(b"/".join(parts[:length]))
            try:
                with opened(root, parts[:length]) as descriptor:
                    names = [name for name in RULES if self._stat(descriptor, name) is not None]
                    scope = repositories.enter(scope, where, descriptor, names)
            except OSError:
                return scope
        return scope

    def _behind_link(self, link: bytes, rest: Parts) -> list[Parts]:
        """The path inside the workspace that a link leads to, if it leads inside."""
        try:
            target = self._looker.root.joinpath(os.fsdecode(b"/".join((link, *rest)))).resolve()
        except (OSError, RuntimeError):
            return []  # A loop of links leads nowhere.
        if not target.is_relative_to(self._looker.root):
            return []
        return [tuple(os.fsencode(part) for part in target.relative_to(self._looker.root).parts)]
