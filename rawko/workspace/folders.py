"""Opens folders of the workspace component by component from its root, so that no link is ever followed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rawko.workspace.names import Parts

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened(root: Path, parts: Parts, *, is_made: bool = False) -> Iterator[int]:
    """Open a folder and yield its descriptor.

    Args:
        is_made: Create missing folders on the path.

    Raises:
        FileNotFoundError: A component is missing.
        NotADirectoryError: A component is a link, or no folder.
        OSError: The system refuses for another reason.
    """
    descriptor = os.open(root, OPEN_FOLDER)
    try:
        for name in parts:
            inner = _open(descriptor, name, is_made)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open(above: int, name: bytes, is_made: bool) -> int:
    if is_made:
        try:
            os.mkdir(name, dir_fd=above)
        except FileExistsError:
            pass
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=above)
    except OSError as error:
        if error.errno == errno.ELOOP:  # Some systems report this for a link.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from error
        raise
