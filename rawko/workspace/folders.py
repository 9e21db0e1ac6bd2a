"""Opening folders of the workspace step by step from its root, so that no link on the way is ever followed."""

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
    """The descriptor of a folder.

    Args:
        is_made: Make what is missing on the way.

    Raises:
        FileNotFoundError: A component is missing.
        NotADirectoryError: A component is no folder, or a link.
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
        if error.errno == errno.ELOOP:  # What some systems say of a link.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from error
        raise
