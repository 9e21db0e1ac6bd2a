"""The journal's tables, in the format of today. Rows hold changes; large texts stand once, by their content.

What is asked for by SQL is a column; the rest of a row is its `body`, JSON that is compressed where that helps.
Without SQLite's row ids a small table is its own index: one page less per table, one look-up less per write.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table, Text

FORMAT = 2
"""Of everything below. Older formats are migrated (`migrations`), newer ones refused."""

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
"""One row per macrostep. `event` is its name alone."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""Full snapshots; they bound what a resume, or a look at an earlier step, replays. Lists in them are shared pages."""

blobs = Table(
    "blobs",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
"""Texts by the SHA-256 of what they are uncompressed; runs share them."""

uses = Table(
    "uses",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("digest", LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)
"""Which run needs which blob: a blob that none needs is removed with the last run that did."""
