"""The errors of settings and projects.

ConfigError             settings that cannot be used
├── ConfinedError       a project's file that is not read: a link out of the project, not a regular file, too large
└── NotTrusted          a project requests what needs the user's trust, and does not have it
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rawko.vocabulary.visible import exact_line

if TYPE_CHECKING:
    from rawko.trust.items import Item


class ConfigError(Exception):
    """Settings that cannot be used: what, where they come from, and what is accepted. No task was started."""


class ConfinedError(ConfigError):
    """A file of a project that is not read.

    Attributes:
        path: The file, with its project's folder.
        problem: Why it is not read, and what is accepted.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class NotTrusted(ConfigError):
    """A project requests what needs the user's trust, and does not have it. Nothing was executed.

    Attributes:
        folder: The project's folder.
        items: What it requests and has not been granted.
        changed: Digests of the items that were trusted in an earlier version.
    """

    def __init__(self, folder: Path, items: Sequence[Item], changed: Collection[str] = ()) -> None:
        self.folder, self.items, self.changed = folder, tuple(items), frozenset(changed)
        super().__init__(f"{describe(folder, self.items, self.changed)}\n{_HOW}")


_HOW = (
    "nothing was run. Look at them; `rawko trust` then asks once and remembers the answer until they change, and "
    "--trust grants them to one command"
)


def describe(folder: Path, items: Sequence[Item], changed: Collection[str]) -> str:
    """The list that a person decides about: one line per item, with its place."""
    lines = [f"the project in {str(folder)!r} asks for what needs your trust:"]
    for item in items:
        mark = " (changed since you trusted it)" if item.digest in changed else ""
        lines.append(f"  {exact_line(str(item))}{mark}")
    return "\n".join(lines)
