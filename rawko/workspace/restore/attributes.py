"""Permissions and owner of a restored file, which is never accessible to more people than when it was captured."""

from __future__ import annotations

import os

from rawko.workspace.modes import Modes
from rawko.workspace.owners import Owners
from rawko.workspace.repository.objects import MODE_EXECUTABLE


class Attributes:
    """The recorded permissions and owners of a workspace's files, which git's trees do not store."""

    def __init__(self, modes: Modes, owners: Owners) -> None:
        self._modes = modes
        self._owners = owners
        self._umask = 0o077

    def begin(self) -> None:
        """Read the process's umask: once for many files, since it is read from a file."""
        self._umask = _umask()

    def permissions(self, path: bytes, mode: int, before: int | None) -> int:
        """The permissions of a restored file.

        Args:
            mode: git's.
            before: Permissions of the file that it replaces; None for a new file, which gets those that the umask
                allows.
        """
        kept = 0o666 & ~self._umask if before is None else before & 0o777
        # A tree records only the executable bit.
        wanted = kept | (kept & 0o444) >> 2 if mode == MODE_EXECUTABLE else kept & ~0o111
        return self._modes.narrowed(path, wanted)

    def give(self, handle: int, path: bytes, oid: bytes, permissions: int) -> None:
        """Set owner and permissions of an open new file.

        The owner is set first: changing it may clear bits. `permissions` never contains set-uid, set-gid or sticky
        bits.

        Raises:
            OSError: The system refuses.
        """
        owner = self._owners.owner(path, oid)
        if owner is not None:
            os.fchown(handle, *owner)
        os.fchmod(handle, permissions)


def _umask() -> int:
    """The umask of this process: on Linux read from /proc; elsewhere read by setting it to the narrowest for a
    moment.
    """
    try:
        with open("/proc/self/status", "rb") as status:  # noqa: PTH123 - no path object is needed
            return int(next(line for line in status if line.startswith(b"Umask:")).split()[1], 8)
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
