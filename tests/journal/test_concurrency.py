"""Two processes on one run: whatever happens between them, one writes at a time, and nothing of the other is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rawko.runtime.journal import StepRecord
from tests.journal.databases import Journals

_RIVAL = """
import asyncio, json, sys
from pathlib import Path
from rawko.journal import SqlJournal
from rawko.runtime.errors import JournalError
from rawko.testing.conformance.journal import record

async def main():
    where, name, rounds = sys.argv[1:4]
    journal = SqlJournal(where if "://" in where else Path(where))
    written = []
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(int(rounds)):
        epoch = await journal.begin("rivals")
        seq = await journal.last_seq("rivals")
        for _ in range(7):
            seq += 1
            try:
                await journal.append(record(seq, epoch, run="rivals"))
            except JournalError as error:
                assert not error.is_retryable, error
                break
            written.append((seq, epoch))
    await journal.aclose()
    print(json.dumps(written), flush=True)

asyncio.run(main())
"""


def started(code: str, *words: str) -> subprocess.Popen[str]:
    """Another process, that waits for a line."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
async def test_two_processes_take_a_run_from_each_other(journals: Journals) -> None:
    """Each begins it again and again, which ends the other's turn: no row is lost, none is written twice."""
    journal = journals()
    rivals = [started(_RIVAL, str(journals.where), name, "20") for name in ("a", "b")]
    written: list[tuple[int, int]] = []
    for rival in rivals:
        assert rival.stdout is not None and rival.stdout.readline() == "ready\n"
    for rival in rivals:
        assert rival.stdin is not None
        rival.stdin.write("\n")
        rival.stdin.flush()
    for rival in rivals:
        out, _ = await asyncio.to_thread(rival.communicate, timeout=120)
        assert rival.returncode == 0
        written += [tuple(pair) for pair in json.loads(out)]
    rows = await journal.rows("rivals")
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert sorted(written) == [(row.seq, row.epoch) for row in rows], "what was acknowledged is what is there"
    assert all(one.epoch <= other.epoch for one, other in itertools.pairwise(rows))
    assert await journal.begin("rivals") == 41


@pytest.mark.slow
async def test_two_processes_make_the_tables_at_once(journals: Journals) -> None:
    code = (
        "import sys, pathlib; from rawko.journal import SqlJournal; where = sys.argv[1]; sys.stdin.readline();"
        "SqlJournal(where if '://' in where else pathlib.Path(where)).dispose()"
    )
    makers = [started(code, str(journals.where)) for _ in range(3)]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("\n")
        maker.stdin.flush()
    for maker in makers:
        await asyncio.to_thread(maker.communicate, timeout=300)
        assert maker.returncode == 0
    assert await journals().begin("r") == 1


async def test_an_answer_that_is_lost_does_not_lose_the_run(journals: Journals) -> None:
    """The commit went through, its answer did not come: the same row once more is taken for what it is."""
    first = journals()
    epoch = await first.begin("r")
    row = StepRecord("r", 1, epoch, "root", 0.1 + 0.2, {"name": "GO", "data": {"x": [1.5]}}, "taken", (), (), ("on",))
    await first.append(row)
    await first.append(row)
    await journals().append(row)
    assert list(await first.rows("r")) == [row]
