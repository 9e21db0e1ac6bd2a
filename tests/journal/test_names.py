"""Names of events as programs and servers make them, on each database."""

from __future__ import annotations

import pytest

from tests.journal.databases import Journals
from tests.journal.test_store import record


@pytest.mark.parametrize("name", ["half \ud800", "a\0b", "\\ud800", "größer", "x" * 5_000])
@pytest.mark.parametrize("text", ["", "x" * 100_000], ids=["short", "long"])
async def test_a_step_of_any_event_is_written_and_comes_back(journals: Journals, name: str, text: str) -> None:
    journal = journals()
    epoch = await journal.begin("r")
    rows = [record(seq, epoch=epoch, event={"name": name, "data": {"text": text}}) for seq in (1, 2)]
    for row in rows:
        await journal.append(row)
    await journal.append(rows[-1])  # its answer was lost
    assert list(await journals().rows("r")) == rows
