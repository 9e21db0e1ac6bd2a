"""The blobs of a journal's runs: which of them a run has, and how new ones are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Engine

from rawko.journal.blobs import Packed, squeeze
from rawko.journal.statements import prepared
from rawko.journal.tables import blobs, uses

_MOST_NOTED: Final = 20_000
"""Most blobs of one run that are remembered: a few MB, however long the run is."""


class Contents:
    """The blobs of a journal's runs.

    Args:
        insert: The database's own INSERT, which supports ON CONFLICT.
    """

    def __init__(self, engine: Engine, insert: Callable[..., Any]) -> None:
        # Statements are made once, because making them takes longer than running them in SQLite.
        texts = insert(blobs)
        # An existing blob is locked by writing it again: a prune may be about to remove it. SQLite has only one writer
        # at a time.
        same = texts.on_conflict_do_update(index_elements=[blobs.c.digest], set_={"digest": texts.excluded.digest})
        is_sqlite = engine.dialect.name == "sqlite"
        self._keep = prepared(engine, texts.on_conflict_do_nothing() if is_sqlite else same)
        self._note_use = prepared(engine, insert(uses).on_conflict_do_nothing())
        self._noted: dict[str, set[bytes]] = {}

    def size_of_new(self, run: str, packed: Packed) -> int:
        """Bytes of the blobs that `keep` would write."""
        noted = self._noted.get(run, ())
        return sum(len(text) for digest, text in packed.taken.items() if digest not in noted)

    def fresh(self, run: str, packed: Packed) -> Sequence[tuple[bytes, bytes]]:
        """Digest and compressed data of the blobs that the run does not have yet."""
        noted = self._noted.get(run, ())
        return [(digest, squeeze(text)) for digest, text in packed.taken.items() if digest not in noted]

    def keep(self, connection: Connection | sqlite3.Connection, run: str, packed: Packed) -> None:
        """Write the blobs that the run does not have yet."""
        fresh = self.fresh(run, packed)
        if not fresh:
            return
        self._keep(connection, [{"digest": digest, "data": data} for digest, data in fresh])
        self._note_use(connection, [{"run": run, "digest": digest} for digest, _ in fresh])

    def remember(self, run: str, packed: Packed) -> None:
        """Note that the run has these blobs; to be called after the commit."""
        if packed.taken:
            noted = self._noted.setdefault(run, set())
            if len(noted) > _MOST_NOTED:  # to write one again costs time, and changes nothing
                noted.clear()
            noted.update(packed.taken)

    def forget(self, pruned: Collection[str]) -> None:
        """Forget the blobs of deleted runs."""
        for run in pruned:
            self._noted.pop(run, None)
