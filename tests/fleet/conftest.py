"""`database`: a database of the fleet without tasks; `fleet`: the fleet on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from rawko.fleet.fleet import Fleet
from tests.fleet.bed import Bed
from tests.fleet.databases import fresh_database


@pytest.fixture
def database() -> Iterator[URL]:
    with fresh_database() as url:
        yield url


@pytest.fixture
def environ(database: URL) -> dict[str, str]:
    return {"RAWKO_FLEET_URL": database.render_as_string(hide_password=False)}


@pytest.fixture
def fleet(environ: dict[str, str]) -> Iterator[Fleet]:
    with Fleet.open(environ) as opened:
        yield opened


@pytest.fixture
def bed(tmp_path: Path, environ: dict[str, str], fleet: Fleet) -> Iterator[Bed]:
    made = Bed(tmp_path, environ, fleet)
    try:
        yield made
    finally:
        made.close()
