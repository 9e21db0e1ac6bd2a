"""Journals that have lost their last rows: a write-ahead log cut at its commits or damaged, an older copy put back.

The log of SQLite is a header of 32 bytes, then frames of 24 bytes and one page each; a frame that ends a commit says
how many pages the database has then (https://www.sqlite.org/fileformat2.html#walformat).
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")


def commits_in(log: Path) -> list[int]:
    """Where each commit of a log ends, in bytes from its start, in order; what is left of an older log is none."""
    data = log.read_bytes()
    _, _, page, _, salt, other_salt, _, _ = _HEADER.unpack_from(data)
    ends = []
    for start in range(_HEADER.size, len(data) - page - _FRAME.size + 1, page + _FRAME.size):
        _, pages, one, two, _, _ = _FRAME.unpack_from(data, start)
        if (one, two) != (salt, other_salt):
            break
        if pages:
            ends.append(start + _FRAME.size + page)
    return ends


def cut(log: Path, length: int) -> None:
    """Keep so many bytes of a log, as a power loss may."""
    with log.open("r+b") as file:
        file.truncate(length)
    log.with_name(log.name.replace("-wal", "-shm")).unlink(missing_ok=True)


def flip(log: Path, offset: int) -> None:
    """Damage one byte of a log: what comes from there on does not count."""
    data = bytearray(log.read_bytes())
    data[offset] ^= 0x55
    log.write_bytes(data)
    log.with_name(log.name.replace("-wal", "-shm")).unlink(missing_ok=True)


def drop_rows(journal: Path | str, run: str, after: int) -> None:
    """The journal as an older copy has it: nothing of a run after a row."""
    url = f"sqlite:///{journal}" if isinstance(journal, Path) else make_url(journal)
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            for table in ("steps", "checkpoints"):
                statement = text(f"DELETE FROM {table} WHERE run = :run AND seq > :after")
                connection.execute(statement, {"run": run, "after": after})
            statement = text("UPDATE runs SET last_seq = :after WHERE run = :run AND last_seq > :after")
            connection.execute(statement, {"run": run, "after": after})
    finally:
        engine.dispose()


@contextmanager
def put_back(folder: Path) -> Iterator[None]:
    """Put a folder back as it was before, whatever happens to it meanwhile."""
    copy = folder.with_name(f"{folder.name}.copy")
    shutil.copytree(folder, copy, symlinks=True)
    try:
        yield
    finally:
        shutil.rmtree(folder)
        copy.rename(folder)
