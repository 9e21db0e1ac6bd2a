"""What a journal holds of a run, read once: a resume asks for it more than once, and decoding it costs time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from rawko.runtime.journal import StepRecord

Checkpoint = tuple[int, dict[str, Any]]


_FEW: Final = 8
"""Rows that are read first: most steps note what was spent, or a snapshot."""


class JournalReader(Protocol):
    """The part of the Journal port that only reads; see `rawko.runtime.journal.Journal`."""

    async def rows(self, run: str, after: int = 0, until: int | None = None) -> Sequence[StepRecord]: ...

    async def last_checkpoint(self, run: str) -> Checkpoint | None: ...

    async def checkpoint_at(self, run: str, seq: int) -> Checkpoint | None: ...


@dataclass(frozen=True, slots=True)
class Recorded:
    """The latest checkpoint of one run and the rows after it, in memory; a JournalReader of that run.

    Attributes:
        last_seq: Number of the latest row; 0 where nothing was committed.
    """

    run: str
    checkpoint: Checkpoint | None
    records: tuple[StepRecord, ...]

    @property
    def last_seq(self) -> int:
        if self.records:
            return self.records[-1].seq
        return 0 if self.checkpoint is None else self.checkpoint[0]

    @property
    def notes(self) -> dict[str, Any] | None:
        """What the session noted last; None if it never did."""
        for record in reversed(self.records):
            if record.notes is not None:
                return record.notes
        return None if self.checkpoint is None else self.checkpoint[1].get("notes")

    async def rows(self, run: str, after: int = 0, until: int | None = None) -> Sequence[StepRecord]:
        """As the journal's, of what was read."""
        assert run == self.run and after >= (self.checkpoint[0] if self.checkpoint else 0)
        return tuple(r for r in self.records if r.seq > after and (until is None or r.seq <= until))

    async def last_checkpoint(self, run: str) -> Checkpoint | None:
        """As the journal's."""
        assert run == self.run
        return self.checkpoint

    async def checkpoint_at(self, run: str, seq: int) -> Checkpoint | None:
        """As the journal's, for rows from the latest checkpoint on."""
        assert run == self.run and seq >= (self.checkpoint[0] if self.checkpoint else 0)
        return self.checkpoint


async def read_latest(journal: JournalReader, run: str, last: int) -> Recorded:
    """The latest rows of a run, back to one in which the session noted something: few, however long the run is.

    Args:
        last: Number of the run's latest row.

    Raises:
        JournalError: The journal cannot be read.
    """
    many, records = _FEW, tuple[StepRecord, ...]()
    while last > 0:
        after = max(last - many, 0)
        records = tuple(await journal.rows(run, after, last))
        if after == 0 or any(record.notes is not None for record in records):
            break
        many *= 4
    return Recorded(run, None, records)


async def read_recorded(journal: JournalReader, run: str) -> Recorded:
    """What is needed to go on with a run.

    Raises:
        JournalError: The journal cannot be read.
    """
    checkpoint = await journal.last_checkpoint(run)
    return Recorded(run, checkpoint, tuple(await journal.rows(run, 0 if checkpoint is None else checkpoint[0])))
