"""Tells whether a journal may have new rows, for the cost of two `stat` calls; called a hundred times a second.

SQLite appends each commit to the file beside the journal (`journal.db-wal`), or starts that file again, so a commit
changes its size or its time. File times have a resolution of some milliseconds: a file that changed just now is
reported as changed once more a little later.

    write at 0 ms    asked at 4 ms: changed     at 14 ms: changed (too fresh to be sure)     at 24 ms: no
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

FRESH_S: Final = 0.012
"""Age in seconds below which a file may change again without a change of its time."""
SURE_S: Final = 0.5
REMOTE_S: Final = 0.04
"""Seconds between two queries of a journal that is not a file."""
_Stamp = tuple[tuple[int, int] | None, ...]


class JournalFile:
    """Remembers the state of a journal's files at the last query.

    Args:
        where: The database file; or the address of a database server, whose changes cannot be seen.
        sure_s: Seconds after which the answer is yes in any case, since changes of files on other machines appear late.
    """

    def __init__(self, where: Path | str, sure_s: float = SURE_S) -> None:
        self._files = (where, where.with_name(where.name + "-wal")) if isinstance(where, Path) else ()
        self._sure_s = sure_s if self._files else REMOTE_S
        self._stamp: _Stamp = ()
        self._asked = 0.0

    def may_have_changed(self) -> bool:
        """Whether rows should be queried now; the next call compares with this one."""
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
