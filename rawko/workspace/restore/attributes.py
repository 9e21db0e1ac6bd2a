"""Permissions and owner of a file that comes back: never open to more people than when it was captured."""

from __future__ import annotations

import os

from rawko.workspace.modes import Modes
from rawko.workspace.owners import Owners
from rawko.workspace.repository.objects import MODE_EXECUTABLE


class Attributes:
    """What is known beside the trees of the files of a workspace."""

    def __init__(self, modes: Modes, owners: Owners) -> None:
        self._modes = modes
        self._owners = owners
        self._umask = 0o077

    def begin(self) -> None:
        """Ask for the process's umask: once for many files, since it is a file to read."""
        self._umask = _umask()

    def permissions(self, path: bytes, mode: int, before: int | None) -> int:
        """What a file may be.

        Args:
            mode: git's.
            before: Permissions of what it replaces; None for a new file, which gets what the umask lets it.
        """
        kept = 0o666 & ~self._umask if before is None else before & 0o777
        # git's executable bit is all that a tree records.
        wanted = kept | (kept & 0o444) >> 2 if mode == MODE_EXECUTABLE else kept & ~0o111
        return self._modes.narrowed(path, wanted)

    def give(self, handle: int, path: bytes, oid: bytes, permissions: int) -> None:
        """Set owner and permissions of an open new file.

        The owner comes first: a change of owner may clear bits. Set-uid and its like are never among `permissions`.

        Raises:
            OSError: The system refuses.
        """
        owner = self._owners.owner(path, oid)
        if owner is not None:
            os.fchown(handle, *owner)
        os.fchmod(handle, permissions)


def _umask() -> int:
    """Of this process: as Linux tells it; elsewhere only setting it tells it, to the narrowest meanwhile."""
    try:
        with open("/proc/self/status", "rb") as status:  # noqa: PTH123 - no path object is needed
            return int(next(line for line in status if line.startswith(b"Umask:")).split()[1], 8)
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
