"""The durable journal: rows of changes in SQLite (a file, WAL) or PostgreSQL (by URL). See `rawko.journal.store`."""

from rawko.extras import require

require("journal", "rawko.journal")

from rawko.journal.store import SqlJournal  # noqa: E402 (what it imports may be missing, which is told above)

__all__ = ["SqlJournal"]
