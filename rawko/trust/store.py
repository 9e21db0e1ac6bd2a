"""Stores the user's decisions about projects: one file per project folder, in the user's configuration folder.

A file that another user could write is ignored, and so is one inside the project itself, where an agent's tool could
write it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rawko.trust.errors import ConfigError
from rawko.trust.items import Item

FORMAT: Final = 1
_MAX_BYTES: Final = 50_000_000
_NAME_BYTES: Final = 100


def decisions_folder() -> Path:
    """The folder of the user's decisions."""
    from platformdirs import user_config_path

    return user_config_path("rawko").absolute() / "trust"


class Decisions:
    """The user's decision about one project folder.

    Args:
        root: The project's folder; it is identified by its real path.
        place: The folder of all decisions; the user's own by default.
    """

    def __init__(self, root: Path, place: Path | None = None) -> None:
        self.root = root.resolve()
        self._place = decisions_folder() if place is None else place
        name = os.fsdecode(os.fsencode(self.root.name or "root")[:_NAME_BYTES])
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]
        self.file = self._place / f"{name}-{digest}.json"

    @property
    def is_reachable(self) -> bool:
        """Whether the file lies in the project itself, so that the project's tools could write it."""
        return self.file.parent.resolve().is_relative_to(self.root)

    def load(self) -> tuple[Item, ...]:
        """The items that the user trusts here; empty if there is no decision, or its file is not safe or not valid."""
        if self.is_reachable:
            return ()
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not _is_own(os.fstat(descriptor)):
                    return ()
                data = json.loads(file.read(_MAX_BYTES))
            if data["format"] != FORMAT or data["folder"] != str(self.root):
                return ()
            return tuple(map(Item.from_json, data["items"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return ()

    def save(self, items: Sequence[Item]) -> None:
        """Store a decision, replacing the previous one.

        Raises:
            ConfigError: It cannot be stored.
        """
        if self.is_reachable:
            raise ConfigError(
                f"decisions about {str(self.root)!r} cannot be kept: your own configuration ({self._place}) lies in "
                "it, where a tool could write them; use --trust for one command"
            )
        data = {"format": FORMAT, "folder": str(self.root), "items": [item.to_json() for item in items]}
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._place.chmod(0o700)
            descriptor, name = tempfile.mkstemp(dir=self._place, prefix=".trust.")  # of mode 0600
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    json.dump(data, file, indent=1)
                os.replace(name, self.file)  # noqa: PTH105 - no Path needed for two names in one folder
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except (OSError, UnicodeEncodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "its name cannot be written"
            raise ConfigError(f"{self.file}: the decision cannot be kept: {why}") from error

    def revoke(self) -> bool:
        """Remove the decision; returns whether there was one.

        Raises:
            ConfigError: It cannot be removed.
        """
        try:
            self.file.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(f"{self.file}: cannot be removed: {error.strerror}") from error
        return True


def _is_own(info: os.stat_result) -> bool:
    """Whether it is a regular file of this user that no other user may write."""
    return stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022


def decided_folders(place: Path | None = None) -> Iterator[tuple[Path, int]]:
    """Every folder with a decision, and the number of trusted items."""
    for file in sorted((decisions_folder() if place is None else place).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            root = Path(json.loads(file.read_bytes())["folder"])
            decisions = Decisions(root, file.parent)
            if decisions.file == file:
                yield root, len(decisions.load())
