"""Whether a journal may have got new rows, for the price of two `stat` calls: asked a hundred times a second.

SQLite appends each commit to the file beside the journal (`journal.db-wal`), or begins that file anew. So a commit
changes its size or its time. The time counts in steps of some milliseconds: a file that was changed right now is
taken for changed once more a little later.

    write at 0 ms    asked at 4 ms: changed     at 14 ms: changed (too fresh to be sure)     at 24 ms: no
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

FRESH_S: Final = 0.012
"""Age below which a file may be changed again without a change of its time."""
SURE_S: Final = 0.5
REMOTE_S: Final = 0.04
"""Seconds between two questions to a journal that is no file."""
_Stamp = tuple[tuple[int, int] | None, ...]


class JournalFile:
    """Remembers how a journal was when it was asked last.

    Args:
        where: The database file; the address of another database, which cannot be looked at.
        sure_s: Seconds after which rows are asked for in any case: a file on another machine may be known late.
    """

    def __init__(self, where: Path | str, sure_s: float = SURE_S) -> None:
        self._files = (where, where.with_name(where.name + "-wal")) if isinstance(where, Path) else ()
        self._sure_s = sure_s if self._files else REMOTE_S
        self._stamp: _Stamp = ()
        self._asked = 0.0

    def may_have_changed(self) -> bool:
        """Whether rows have to be asked for; the next call counts from this one."""
        now = time.monotonic()
        stamp = tuple(_stamp(path) for path in self._files)
        is_fresh = any(one is not None and abs(time.time() - one[0] / 1e9) < FRESH_S for one in stamp)
        if stamp == self._stamp and not is_fresh and now - self._asked < self._sure_s:
            return False
        self._stamp, self._asked = stamp, now
        return True


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
