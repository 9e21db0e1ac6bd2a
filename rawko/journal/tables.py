"""The journal's tables, in the present format. Rows contain changes; large texts are stored once, by content.

Fields that SQL queries need are columns; the rest of a row is its `body`, JSON that is compressed if that helps.
Without SQLite's row ids a small table is its own index: one page less per table, one look-up less per write.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table, Text

FORMAT = 2
"""Format of all tables below. Older formats are migrated (`migrations`), newer ones refused."""

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("last_seq", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""One row per run. `epoch` is its present writer's; `last_seq` its latest committed row."""

steps = Table(
    "steps",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("epoch", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("time", Float(53), nullable=False),
    Column("event", Text),
    Column("receipt", String(80)),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""One row per macrostep. `event` is only the event's name."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""Full snapshots; they limit how many rows a resume, or a view of an earlier step, replays. Lists in them share
pages.
"""

blobs = Table(
    "blobs",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
"""Texts by the SHA-256 of their uncompressed content; runs share them."""

uses = Table(
    "uses",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("digest", LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)
"""Which run needs which blob: a blob is removed with the last run that needs it."""
