"""`journals`: the journal on each database that is there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journal.databases import DATABASES, Journals, database


@pytest.fixture(params=DATABASES)
async def journals(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journals]:
    """Opens journals over one store that nobody else uses; closed at the end."""
    with database(request.param, tmp_path) as where:
        opened = Journals(where)
        try:
            yield opened
        finally:
            await opened.aclose()
