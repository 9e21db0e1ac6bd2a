"""The SQL journal keeps the Journal port's contracts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.journal import SqlJournal
from rawko.testing.conformance.journal import JOURNAL_CONTRACTS, JournalContract


@pytest.mark.parametrize("contract", JOURNAL_CONTRACTS, ids=str)
async def test_the_contract_is_kept(contract: JournalContract, tmp_path: Path) -> None:
    opened: list[SqlJournal] = []

    def another_writer() -> SqlJournal:
        opened.append(SqlJournal(tmp_path / "journal.db"))
        return opened[-1]

    try:
        await contract.check(another_writer)
    finally:
        for journal in opened:
            await journal.aclose()
