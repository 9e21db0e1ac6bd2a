"""The journal's tables, and the format they are in. Rows hold changes; large texts stand once, by their content.

Without SQLite's row ids a table is its own index: one page less per table, one look-up less per write.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table, Text

FORMAT = 1
"""Of everything below; a store of another format is refused, never guessed at."""

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
    Column("seq", Integer, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("time", Float, nullable=False),
    Column("event", Text),
    Column("receipt", String(80)),
    Column("updates", Text, nullable=False),
    Column("effects", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("notes", Text),
    sqlite_with_rowid=False,
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run", String(80), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("snapshot", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""The latest full snapshot of each run; it bounds what a resume replays."""

blobs = Table(
    "blobs",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
