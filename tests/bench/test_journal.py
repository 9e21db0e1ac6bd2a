"""What a committed step costs: at the beginning of a run and after 10,000 steps of it, beside SQLite's own commit."""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rawko.journal import SqlJournal
from rawko.runtime.journal import StepRecord

BenchmarkFixture = Any
LONG = 10_000


def text_of(number: int) -> str:
    """2 kB that do not repeat."""
    chance = random.Random(number)
    return " ".join(f"{chance.getrandbits(40):x}" for _ in range(190))


def record(seq: int, epoch: int) -> StepRecord:
    """A step as a tool's result makes it: the text in its event, and in the change."""
    text = text_of(seq)
    event = {"name": "done.invoke.execute_tool", "data": {"output": {"content": text, "is_error": False}}}
    updates = ({"append": "tool_history", "item": {"id": seq, "content": text}}, {"assign": {"open_call": None}})
    effects = ({"type": "start", "id": "capture", "src": "capture", "number": seq, "attempt": 1, "state": "capturing"},)
    return StepRecord("r", seq, epoch, "root/agent", seq / 7, event, "taken", updates, effects, ("agent", "capturing"))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def appending(
    journal: SqlJournal, loop: asyncio.AbstractEventLoop, first: int
) -> tuple[Callable[[], tuple[tuple[StepRecord], dict[str, Any]]], Callable[[StepRecord], None]]:
    """Set-up (the next record) and what is measured (its commit)."""
    epoch = loop.run_until_complete(journal.begin("r"))
    numbers = itertools.count(first)

    def prepare() -> tuple[tuple[StepRecord], dict[str, Any]]:
        return (record(next(numbers), epoch),), {}

    def append(row: StepRecord) -> None:
        loop.run_until_complete(journal.append(row))

    return prepare, append


@pytest.mark.benchmark(group="a journaled step of 2 kB")
@pytest.mark.parametrize("steps_before", [0, LONG])
def test_step(benchmark: BenchmarkFixture, tmp_path: Path, loop: asyncio.AbstractEventLoop, steps_before: int) -> None:
    """The port's `append`: thread, transaction, compression and all."""
    journal = SqlJournal(tmp_path / "journal.db")
    prepare, append = appending(journal, loop, 1)
    for _ in range(steps_before):
        (row,), _ = prepare()
        append(row)
    benchmark.extra_info["bytes per step"] = (tmp_path / "journal.db").stat().st_size / max(steps_before, 1)
    benchmark.pedantic(append, setup=prepare, rounds=300)
    loop.run_until_complete(journal.aclose())


@pytest.mark.benchmark(group="a journaled step of 2 kB")
def test_sqlite_alone(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The peer: one row of the same size in one transaction of Python's own driver, same settings."""
    connection = sqlite3.connect(tmp_path / "plain.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("CREATE TABLE rows (seq INTEGER PRIMARY KEY, text TEXT)")
    numbers = itertools.count(1)

    def prepare() -> tuple[tuple[int, str], dict[str, Any]]:
        number = next(numbers)
        return (number, text_of(number) * 2), {}

    def append(number: int, text: str) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?, ?)", (number, text))
        connection.execute("COMMIT")

    benchmark.pedantic(append, setup=prepare, rounds=300)
    connection.close()


@pytest.mark.benchmark(group="reading 2,000 rows of 2 kB")
def test_read(benchmark: BenchmarkFixture, tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    """What a resume without a checkpoint reads."""
    journal = SqlJournal(tmp_path / "journal.db")
    prepare, append = appending(journal, loop, 1)
    for _ in range(2_000):
        (row,), _ = prepare()
        append(row)
    found = benchmark.pedantic(lambda: loop.run_until_complete(journal.rows("r")), rounds=3)
    assert len(found) == 2_000
    loop.run_until_complete(journal.aclose())
