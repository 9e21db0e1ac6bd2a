"""The user's own files about single folders, in the user's configuration: ignored if another user could have written
them, and replaced atomically.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rawko.trust.errors import ConfigError

_MAX_BYTES: Final = 50_000_000
_NAME_BYTES: Final = 100


def user_folder(name: str) -> Path:
    """A folder in the user's own configuration."""
    from platformdirs import user_config_path

    return user_config_path("rawko").absolute() / name


class OwnFile:
    """The file about one folder, which is identified by its real path.

    Args:
        place: The folder of all such files.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self.root = root.resolve()
        self._place = place
        name = os.fsdecode(os.fsencode(self.root.name or "root")[:_NAME_BYTES])
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]
        self.file = place / f"{name}-{digest}.json"

    @property
    def is_reachable(self) -> bool:
        """Whether the file lies in the folder itself, so that the folder's tools could write it."""
        return self.file.parent.resolve().is_relative_to(self.root)

    def check_place(self) -> None:
        """Raises ConfigError if the file lies in the folder itself."""
        if self.is_reachable:
            raise ConfigError(
                f"decisions about {str(self.root)!r} cannot be kept: your own configuration ({self._place}) lies in "
                "it, where a tool could write them; use --trust for one command"
            )

    def stamp(self) -> tuple[int, int, int] | None:
        """A value that changes when the file is written; None if it does not exist."""
        try:
            info = self.file.lstat()
        except OSError:
            return None
        return info.st_mtime_ns, info.st_ino, info.st_size

    def read(self) -> Any:
        """The JSON of the file; None if it does not exist, is not safe or not valid."""
        if self.is_reachable:
            return None
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                return json.loads(file.read(_MAX_BYTES)) if _is_own(os.fstat(descriptor)) else None
        except (OSError, ValueError, RecursionError):
            return None

    def make_folder(self) -> None:
        """Create the folder of all such files, accessible to its owner only.

        Raises:
            OSError: The folder cannot be created.
        """
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._place.chmod(0o700)

    def write(self, data: Mapping[str, Any]) -> None:
        """Replace the file.

        Raises:
            ConfigError: The file cannot be written.
        """
        self.check_place()
        try:
            self.make_folder()
            descriptor, name = tempfile.mkstemp(dir=self._place, prefix=".own.")  # of mode 0600
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

    def remove(self) -> bool:
        """Remove the file; returns whether it existed.

        Raises:
            ConfigError: The file cannot be removed.
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
