"""The Journal port's conformance suite: MemoryJournal keeps it, and each contract can fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rawko.runtime import JournalError, MemoryJournal, StepRecord
from rawko.testing.conformance.journal import JOURNAL_CONTRACTS, JournalContract


@pytest.mark.parametrize("contract", JOURNAL_CONTRACTS, ids=str)
async def test_the_journal_in_memory_keeps_the_contract(contract: JournalContract) -> None:
    journal = MemoryJournal()
    await contract.check(lambda: journal)


class InventsRows(MemoryJournal):
    async def last_seq(self, run: str) -> int:
        return await super().last_seq(run) or 7


class Forgets(MemoryJournal):
    async def rows(self, run: str, after: int = 0, until: int | None = None) -> Sequence[StepRecord]:
        return tuple(replace(row, updates=()) for row in await super().rows(run, after, until))


class ReadsOn(MemoryJournal):
    async def rows(self, run: str, after: int = 0, until: int | None = None) -> Sequence[StepRecord]:
        return await super().rows(run, after)


class KeepsTheLatest(MemoryJournal):
    async def checkpoint_at(self, run: str, seq: int) -> tuple[int, dict[str, Any]] | None:
        found = await super().checkpoint_at(run, 1_000)
        return found if found is not None and found[0] <= seq else None


class Unbuffered(MemoryJournal):
    async def append(self, record: StepRecord) -> None:
        await super().append(record)
        if record.seq == 1:
            self._rows[record.run].clear()


class OneEpoch(MemoryJournal):
    async def begin(self, run: str) -> int:
        await super().begin(run)
        self._epochs[run] = 1
        return 1


class TriesForEver(MemoryJournal):
    async def append(self, record: StepRecord) -> None:
        try:
            await super().append(record)
        except JournalError as error:
            raise JournalError(str(error)) from error


class Overwrites(MemoryJournal):
    async def append(self, record: StepRecord) -> None:
        rows = self._writable(record.run, record.epoch)
        rows[:] = [row for row in rows if row.seq != record.seq] + [record]


class TakesAnything(MemoryJournal):
    async def append(self, record: StepRecord) -> None:
        if record.run not in self._rows:
            await self.begin(record.run)
        await super().append(record)


class KeepsTheFirst(MemoryJournal):
    async def checkpoint(self, run: str, seq: int, snapshot: dict[str, Any], *, epoch: int) -> None:
        if await self.last_checkpoint(run) is None:
            await super().checkpoint(run, seq, snapshot, epoch=epoch)


class OneRun(MemoryJournal):
    async def rows(self, run: str, after: int = 0, until: int | None = None) -> Sequence[StepRecord]:
        return [row for rows in self._rows.values() for row in rows]


class WritesTwice(MemoryJournal):
    async def append(self, record: StepRecord) -> None:
        await super().append(record)
        rows = self._rows[record.run]
        if rows.count(record) == 1 and len(rows) < record.seq + 1:
            self._writable(record.run, record.epoch)
            rows.append(replace(record, seq=record.seq + 1))


class BeginsAnew(MemoryJournal):
    async def begin(self, run: str) -> int:
        epoch = await super().begin(run)
        self._rows[run] = []
        return epoch


class CutsShort(MemoryJournal):
    async def checkpoint(self, run: str, seq: int, snapshot: dict[str, Any], *, epoch: int) -> None:
        short = {key: value[:50] if isinstance(value, list) else value for key, value in snapshot.items()}
        await super().checkpoint(run, seq, short, epoch=epoch)


@pytest.mark.parametrize(
    ("broken", "number"),
    [
        (InventsRows, 1),
        (Forgets, 2),
        (ReadsOn, 2),
        (Unbuffered, 3),
        (OneEpoch, 4),
        (TriesForEver, 5),
        (Overwrites, 6),
        (TakesAnything, 7),
        (KeepsTheFirst, 8),
        (KeepsTheLatest, 8),
        (OneRun, 9),
        (WritesTwice, 10),
        (BeginsAnew, 11),
        (CutsShort, 12),
    ],
)
async def test_each_contract_fails_for_a_journal_that_breaks_it(broken: type[MemoryJournal], number: int) -> None:
    journal = broken()
    with pytest.raises((AssertionError, JournalError)):
        await JOURNAL_CONTRACTS[number - 1].check(lambda: journal)


def test_every_contract_is_shown_to_fail() -> None:
    assert [contract.number for contract in JOURNAL_CONTRACTS] == list(range(1, 13))
