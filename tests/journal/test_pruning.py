"""Runs deleted from the journal: their rows go, texts go with the last run that needs them, the room is given back."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from rawko.journal import SqlJournal
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import StepRecord
from tests.journal.databases import Journals

SHARED, OWN = "shared " * 400, "own " * 400


def row(run: str, seq: int, epoch: int, text: str) -> StepRecord:
    return StepRecord(run, seq, epoch, "root", 1.0, None, None, ({"assign": {"text": text}},), (), ("on",))


async def test_a_text_goes_with_the_last_run_that_needs_it(journals: Journals) -> None:
    journal = journals()
    for run in ("a", "b"):
        epoch = await journal.begin(run)
        await journal.append(row(run, 1, epoch, SHARED))
        await journal.append(row(run, 2, epoch, f"{run} {OWN}"))
        await journal.checkpoint(run, 2, {"text": SHARED, "run": run}, epoch=epoch)
    kept = await journal.rows("b")
    pruned = await journal.prune(["a", "nobody"])
    assert (pruned.runs, pruned.steps, pruned.blobs) == (1, 2, 1)
    assert await journal.runs() == ("b",)
    assert await journal.rows("a") == ()
    assert await journal.last_checkpoint("a") is None
    other = journals()
    assert await other.rows("b") == kept
    assert await other.last_checkpoint("b") == (2, {"text": SHARED, "run": "b"})
    assert (await journal.prune(["b"])).blobs == 2
    assert journals.execute("SELECT count(*) FROM uses") == [(0,)]
    again = await journal.begin("b")
    await journal.append(row("b", 1, again, SHARED))
    assert await journals().rows("b") == (row("b", 1, again, SHARED),)


async def test_the_writer_of_a_run_that_is_gone_is_refused(journals: Journals) -> None:
    writer = journals()
    epoch = await writer.begin("a")
    await writer.append(row("a", 1, epoch, "x"))
    await journals().prune(["a"])
    with pytest.raises(JournalError, match="was not begun"):
        await writer.append(row("a", 2, epoch, "y"))
    assert await writer.runs() == ()


async def test_texts_that_are_just_being_used_again_stay(journals: Journals) -> None:
    """One run after the other is removed while another one writes the very same texts: none of its rows is torn."""
    writer, pruner = journals(), journals()
    epoch = await writer.begin("stays")
    for number in range(25):
        text = f"{number} " * 600
        gone = await pruner.begin("gone")
        await pruner.append(row("gone", 1, gone, text))
        await asyncio.gather(pruner.prune(["gone"]), writer.append(row("stays", number + 1, epoch, text)))
    found = await journals().rows("stays")
    assert [one.updates[0]["assign"]["text"] for one in found] == [f"{number} " * 600 for number in range(25)]


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


async def test_the_room_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqlJournal(path)
    for run in ("a", "b"):
        epoch = await journal.begin(run)
        for seq in range(1, 201):
            await journal.append(row(run, seq, epoch, os.urandom(1000).hex()))
    before = size_of(tmp_path)
    await journal.prune(["a"])
    await journal.shrink()
    assert size_of(tmp_path) < 0.6 * before
    assert len(await journal.rows("b")) == 200
    await journal.aclose()


async def test_shrinking_is_harmless_anywhere(journals: Journals) -> None:
    journal = journals()
    epoch = await journal.begin("a")
    await journal.append(row("a", 1, epoch, SHARED))
    await journal.shrink()
    assert await journal.rows("a") == (row("a", 1, epoch, SHARED),)
