"""What this process, or the machine that it runs on, has run out of: no fault of a tool, a model or a chart.

The caller cannot do better in a moment, and nothing else is to be tried: the run stops where it stands, and
goes on once there is more.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Final

_OF_PROCESS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_OF_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
_OF_STATE: Final = _OF_PROCESS | _OF_DISK | {errno.EROFS, errno.EAGAIN}


class Shortage(Exception):
    """Something has run out; the message says what."""


def shortage_of(error: BaseException, *, is_own: bool = False, is_writing: bool = False) -> str | None:
    """What has run out, if that is what an error, or one that has led to it, says; None otherwise.

    Args:
        is_own: The error met files and processes of our own, and none that an agent has named: then a disk that
            refuses counts.
        is_writing: A file that an agent has named was written: then a full or broken disk counts. A read-only one does
            not, since a folder that the agent need not write may be mounted so.
    """
    codes = _OF_STATE if is_own else _OF_PROCESS | _OF_DISK if is_writing else _OF_PROCESS
    for one in _behind(error):
        if isinstance(one, MemoryError):
            return "out of memory"
        if isinstance(one, OSError) and one.errno in codes:
            return one.strerror or str(one)
    return None


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            todo += one.exceptions
