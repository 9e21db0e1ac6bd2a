"""Stores the user's decisions about projects: one file per project folder, in the user's configuration folder.

A file that another user could write is ignored, and so is one inside the project itself, where an agent's tool could
write it (`rawko.trust.own_files`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rawko.trust.items import Item
from rawko.trust.own_files import OwnFile, user_folder

FORMAT: Final = 1


def decisions_folder() -> Path:
    """The folder of the user's decisions."""
    return user_folder("trust")


class Decisions:
    """The user's decision about one project folder.

    Args:
        root: The project's folder; it is identified by its real path.
        place: The folder of all decisions; the user's own by default.
    """

    def __init__(self, root: Path, place: Path | None = None) -> None:
        self._own = OwnFile(root, decisions_folder() if place is None else place)
        self.root, self.file = self._own.root, self._own.file

    @property
    def is_reachable(self) -> bool:
        """Whether the file lies in the project itself, so that the project's tools could write it."""
        return self._own.is_reachable

    def load(self) -> tuple[Item, ...]:
        """The items that the user trusts here; empty if there is no decision, or its file is not safe or not valid."""
        data = self._own.read()
        try:
            if data is None or data["format"] != FORMAT or data["folder"] != str(self.root):
                return ()
            return tuple(map(Item.from_json, data["items"]))
        except (ValueError, TypeError, KeyError, AttributeError):
            return ()

    def save(self, items: Sequence[Item]) -> None:
        """Store a decision, replacing the previous one.

        Raises:
            ConfigError: It cannot be stored.
        """
        self._own.write({"format": FORMAT, "folder": str(self.root), "items": [item.to_json() for item in items]})

    def revoke(self) -> bool:
        """Remove the decision; returns whether there was one.

        Raises:
            ConfigError: It cannot be removed.
        """
        return self._own.remove()


def decided_folders(place: Path | None = None) -> Iterator[tuple[Path, int]]:
    """Every folder with a decision, and the number of trusted items."""
    for file in sorted((decisions_folder() if place is None else place).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            root = Path(json.loads(file.read_bytes())["folder"])
            decisions = Decisions(root, file.parent)
            if decisions.file == file:
                yield root, len(decisions.load())
