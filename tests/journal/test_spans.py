"""How far many runs have come, read at once, on each database."""

from __future__ import annotations

from rawko.journal.spans import RunSpan
from tests.journal.databases import Journals
from tests.journal.test_store import record


async def test_the_spans_of_many_runs_are_read_at_once(journals: Journals) -> None:
    journal = journals()
    for run, times in {"one": [3.5], "three": [1.0, 9.0, 2.0], "begun": [], "other": [7.0]}.items():
        epoch = await journal.begin(run)
        for seq, time in enumerate(times, 1):
            await journal.append(record(seq, run=run, epoch=epoch, time=time))
    names = ["three", "one", "begun", "never", *(f"missing-{number}" for number in range(1_200))]
    assert await journal.spans(names) == {"one": RunSpan(3.5, 3.5, 1), "three": RunSpan(1.0, 2.0, 3)}
    assert await journal.spans([]) == {}
