"""A journal as format 1 wrote it, statement by statement; never to be changed. Two runs: one of three rows, one begun.

The long text stands as a blob of its own. One event carries an object that looks like a pointer, one a quoted name.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, text

from rawko.runtime.journal import StepRecord

RUN, EMPTY = "20260101-000000-aaaaaa", "20260102-000000-bbbbbb"
LONG = "é\n" * 2048
DIGEST = "199f8966ea4df57e3198af07c393c7a28c11591447ef16c0d8e441cbe0bb7bd2"
assert hashlib.sha256(LONG.encode()).hexdigest() == DIGEST

_TABLES = (
    "CREATE TABLE meta (key VARCHAR(40) NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key))",
    "CREATE TABLE runs (run VARCHAR(80) NOT NULL, epoch INTEGER NOT NULL, last_seq INTEGER NOT NULL,"
    " PRIMARY KEY (run))",
    "CREATE TABLE steps (run VARCHAR(80) NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, actor TEXT NOT NULL,"
    " time {float} NOT NULL, event TEXT, receipt VARCHAR(80), updates TEXT NOT NULL, effects TEXT NOT NULL,"
    " configuration TEXT NOT NULL, notes TEXT, PRIMARY KEY (run, seq))",
    "CREATE TABLE checkpoints (run VARCHAR(80) NOT NULL, seq INTEGER NOT NULL, snapshot TEXT NOT NULL,"
    " PRIMARY KEY (run))",
    "CREATE TABLE blobs (digest VARCHAR(64) NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (digest))",
)
_POINTER = f'{{"$blob":"{DIGEST}"}}'
_STARTED = '[{"type":"start","id":"a","src":"s","number":1,"attempt":1,"state":"x","policy":"restart","resumed":false}]'
_STEPS = (
    (RUN, 1, 2, "root", 1.5, None, None, "[]", _STARTED, '["m","x"]', None),
    (
        RUN,
        2,
        2,
        "root",
        2.5,
        f'{{"name":"done.invoke.a","data":{{"$blob":null,"value":{{"output":{_POINTER},"$blob":1}}}}}}',
        "taken",
        f'[{{"append":"messages","item":{_POINTER}}}]',
        "[]",
        '["m","y"]',
        '{"n":1}',
    ),
    (
        RUN,
        3,
        2,
        "root/kid",
        3.5,
        '{"name":"O\\"DD","data":{"$pages":["mine"]}}',
        "unknown event",
        "[]",
        "[]",
        '["m","y"]',
        None,
    ),
)
_CHECKPOINT = f'{{"context":{{"messages":[{_POINTER}]}},"now":2.5}}'

RECORDS = (
    StepRecord(
        run=RUN,
        seq=1,
        epoch=2,
        actor="root",
        time=1.5,
        event=None,
        receipt=None,
        updates=(),
        effects=(
            {
                "type": "start",
                "id": "a",
                "src": "s",
                "number": 1,
                "attempt": 1,
                "state": "x",
                "policy": "restart",
                "resumed": False,
            },
        ),
        configuration=("m", "x"),
    ),
    StepRecord(
        run=RUN,
        seq=2,
        epoch=2,
        actor="root",
        time=2.5,
        event={"name": "done.invoke.a", "data": {"output": LONG, "$blob": 1}},
        receipt="taken",
        updates=({"append": "messages", "item": LONG},),
        effects=(),
        configuration=("m", "y"),
        notes={"n": 1},
    ),
    StepRecord(
        run=RUN,
        seq=3,
        epoch=2,
        actor="root/kid",
        time=3.5,
        event={"name": 'O"DD', "data": {"$pages": ["mine"]}},
        receipt="unknown event",
        updates=(),
        effects=(),
        configuration=("m", "y"),
    ),
)
"""What the rows say."""
CHECKPOINT = (2, {"context": {"messages": [LONG]}, "now": 2.5})


def write_format_1(connection: Connection) -> None:
    """Make the tables, and fill them."""
    is_sqlite = connection.dialect.name == "sqlite"
    for statement in _TABLES:
        kinds = {"float": "FLOAT", "bytes": "BLOB" if is_sqlite else "BYTEA"}
        rowid = " WITHOUT ROWID" if is_sqlite and "blobs" not in statement else ""
        connection.execute(text(statement.format(**kinds) + rowid))
    connection.execute(text("INSERT INTO meta VALUES ('format', '1')"))
    for run, epoch, last in ((RUN, 2, 3), (EMPTY, 1, 0)):
        connection.execute(text("INSERT INTO runs VALUES (:r, :e, :l)"), {"r": run, "e": epoch, "l": last})
    for row in _STEPS:
        places = ", ".join(f":p{n}" for n in range(len(row)))
        connection.execute(text(f"INSERT INTO steps VALUES ({places})"), {f"p{n}": v for n, v in enumerate(row)})
    connection.execute(text("INSERT INTO checkpoints VALUES (:r, 2, :s)"), {"r": RUN, "s": _CHECKPOINT})
    connection.execute(text("INSERT INTO blobs VALUES (:d, :b)"), {"d": DIGEST, "b": LONG.encode()})
