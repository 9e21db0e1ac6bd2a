"""The SQL journal keeps the Journal port's contracts, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest

from rawko.testing.conformance.journal import JOURNAL_CONTRACTS, JournalContract
from tests.journal.databases import Journals


@pytest.mark.parametrize("contract", JOURNAL_CONTRACTS, ids=str)
async def test_the_contract_is_kept(contract: JournalContract, journals: Journals) -> None:
    await contract.check(journals)
