"""What a workspace held before a command: what is shown read-only while it runs, and compared after it.

Two kinds of places. One is obeyed by its name, wherever it is (`.git`): it may be moved with its folder, and is known
by device and inode. The other is obeyed because something says its path (a hooks folder, the state folder): there the
path must lead to the same thing afterwards, so its parents cannot be renamed either.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rawko.tools.sandbox.places import Identity, Look, Place, identity_of, look
from rawko.tools.sandbox.repositories import Pointers, links_below

MAX_GUARDED: Final = 2_000
"""Places; the time to mount them grows with the square of their number (4 s here)."""
PLACEHOLDERS: Final = (".git", ".rawko")
"""Of the workspace's own folder: where they are not there, an empty folder is shown in their place."""


class TooManyError(Exception):
    """A workspace holds more repositories than can be guarded."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A workspace before a command.

    Attributes:
        places: What is obeyed by its name or its contents.
        paths: What is obeyed because its path is named, and what was there (None: nothing).
        folders: (device, inode) of all folders; None where that is not known any more.
        placeholders: Empty folders that were made for the time of the command.
    """

    root: Path
    places: tuple[Place, ...]
    paths: Mapping[Path, Identity | None]
    folders: frozenset[tuple[int, int]] | None
    placeholders: tuple[Path, ...] = ()

    def read_only(self) -> list[Path]:
        """What is shown read-only, none inside another."""
        wanted = {place.path for place in self.places if not place.identity[2]} | {
            Path(os.path.realpath(path)) for path, identity in self.paths.items() if identity is not None
        }
        inside = {path for path in wanted if path.is_relative_to(self.root) and path != self.root}
        return sorted(path for path in inside if inside.isdisjoint(path.parents))

    def fixed(self) -> list[Path]:
        """Folders above named paths: mounted upon themselves, which keeps them from being renamed."""
        named = {Path(os.path.realpath(path)) for path, identity in self.paths.items() if identity is not None}
        shut = set(self.read_only())
        above = {parent for path in named & shut for parent in path.parents}
        return sorted(parent for parent in above if parent.is_relative_to(self.root) and parent != self.root)

    def as_json(self) -> dict[str, Any]:
        """To be settled by another process after a crash."""
        return {
            "root": str(self.root),
            "places": [[str(place.path), place.kind, list(place.identity)] for place in self.places],
            "paths": [[str(path), identity] for path, identity in self.paths.items()],
            "placeholders": [str(path) for path in self.placeholders],
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Baseline:
        """What `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: It did not.
        """
        return cls(
            Path(told["root"]),
            tuple(Place(Path(path), kind, _identity(identity)) for path, kind, identity in told["places"]),
            {Path(path): None if identity is None else _identity(identity) for path, identity in told["paths"]},
            None,
            tuple(Path(path) for path in told["placeholders"]),
        )


BARE: Final = ("HEAD", "commondir", "config", "config.worktree", "hooks", "info")
"""What of a bare repository is obeyed: the whole of one is read-only, but these of the workspace's own folder."""


def take_baseline(root: Path, pointers: Pointers, named: Iterable[Path] = ()) -> Baseline:
    """Look at a workspace before a command.

    Args:
        named: Further places that are obeyed by their path: rawko's own state and installation.

    Raises:
        TooManyError: It holds too many repositories.
    """
    made = tuple(path for path in (root / name for name in PLACEHOLDERS) if _make(path))
    found = look(root)
    pointed = (*_pointed(root, found, pointers), *_inside(root, named), *_of_a_bare_root(root, found.places))
    paths = {path: where(path) for path in pointed}
    baseline = Baseline(root, tuple(found.places), paths, frozenset(found.folders), made)
    count = len(baseline.read_only())
    if count > MAX_GUARDED:
        drop(made)
        raise TooManyError(
            f"the workspace holds {count} repositories (folders named .git, bare repositories) and other places that "
            f"git obeys; the sandbox can guard {MAX_GUARDED}"
        )
    return baseline


def where(path: Path) -> Identity | None:
    """What a named path leads to; links are followed, since who obeys it follows them."""
    found = identity_of(os.path.realpath(path))
    return None if found is None else (*found[:2], "")


def drop(placeholders: Iterable[Path]) -> None:
    """Remove those that are still empty: a repository that somebody has made there outside stays."""
    for path in placeholders:
        try:
            path.rmdir()
        except OSError:
            continue


def _make(path: Path) -> bool:
    try:
        path.mkdir()
    except OSError:
        return False
    return True


def _of_a_bare_root(root: Path, places: Iterable[Place]) -> Iterator[Path]:
    if any(place.path == root for place in places):
        yield from (root / name for name in BARE)


def _pointed(root: Path, found: Look, pointers: Pointers) -> Iterator[Path]:
    around = next((above / ".git" for above in root.parents if os.path.lexists(above / ".git")), None)
    if around is not None:
        yield from _inside(root, pointers.of(around))
    for place in found.places:
        if place.kind == "named":
            if place.path.name.lower() == ".rawko":
                yield from _inside(root, links_below(place.path))
            else:
                yield from _inside(root, pointers.of(place.path))
        elif place.kind == "bare":
            yield from _inside(root, pointers.of_bare(place.path))


def _inside(root: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """Those that lie in the workspace, as they are written or where they lead to."""
    for path in paths:
        written = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
        real = Path(os.path.realpath(written))
        for one in dict.fromkeys((written, real)):
            if one.is_relative_to(root) and root not in (one, real):
                yield one


def _identity(told: Any) -> Identity:
    device, inode, target = told
    return int(device), int(inode), str(target)


def load(file: Path) -> Baseline | None:
    """The baseline of a command whose rawko was killed; None if there is none that can be read."""
    try:
        return Baseline.from_json(json.loads(file.read_bytes()))
    except (OSError, KeyError, TypeError, ValueError):
        return None


def user_places(environ: Mapping[str, str]) -> list[Path]:
    """What git and rawko obey in a user's own folder, should the workspace be that or hold it."""
    from platformdirs import user_config_path, user_data_path  # here, because only a sandbox needs it

    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    git = [home / ".gitconfig", home / ".config" / "git", config / "git"]
    return [*git, user_config_path("rawko"), user_data_path("rawko")]
