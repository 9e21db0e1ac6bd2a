"""The stores of packs against the suite of their port: a folder, and a real PostgreSQL."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from rawko.workspace.packs.conformance import CHECKS, Open
from rawko.workspace.packs.folder_store import FolderPacks
from rawko.workspace.packs.opening import packs_of
from rawko.workspace.packs.port import Pack, PackError, PackStore
from tests.postgres import URL_VARIABLE


@pytest.fixture(params=["folder", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    stores: list[PackStore] = []
    place, drop = (str(tmp_path / "packs"), _nothing) if request.param == "folder" else _database()

    def open_store() -> PackStore:
        store = packs_of({"RAWKO_PACKS_URL": place})
        assert store is not None
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()
    drop()


def _nothing() -> None:
    pass


def _database() -> tuple[str, Callable[[], None]]:
    base = os.environ.get(URL_VARIABLE)
    if not base:
        pytest.skip(f"no PostgreSQL: {URL_VARIABLE} is not set")
    name = f"packs_{secrets.token_hex(6)}"
    engine = create_engine(make_url(base).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")

    def carry_out(statement: str) -> None:
        with engine.connect() as connection:
            connection.execute(text(statement))

    def drop() -> None:
        carry_out(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()

    carry_out(f"CREATE DATABASE {name}")
    return make_url(base).set(database=name).render_as_string(hide_password=False), drop


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_to_its_port(check: Callable[[Open], None], opened: Open) -> None:
    check(opened)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("mysql://h/d", "names 'mysql'; accepted: postgresql://"),
        ("packs", "names no store of packs; accepted: postgresql://"),
    ],
)
def test_a_place_that_can_be_none_is_refused(place: str, told: str) -> None:
    with pytest.raises(PackError, match="RAWKO_PACKS_URL") as caught:
        packs_of({"RAWKO_PACKS_URL": place})
    assert told in str(caught.value)
    assert packs_of({}) is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "packs").write_text("a file")
    with pytest.raises(PackError, match="cannot be used") as caught:
        FolderPacks(tmp_path / "packs").begin("run")
    assert caught.value.is_retryable


def test_a_database_that_is_away_is_told_without_its_password() -> None:
    store = packs_of({"RAWKO_PACKS_URL": "postgresql://me:SECRET@127.0.0.1:1/none"})
    assert store is not None
    with pytest.raises(PackError) as caught:
        store.get("run", Pack(1, 1))
    assert caught.value.is_retryable
    assert "SECRET" not in str(caught.value)


def test_what_a_killed_process_has_half_written_is_removed_by_the_next(tmp_path: Path) -> None:
    store = FolderPacks(tmp_path)
    store.begin("run")
    half = tmp_path / "run" / ".0123456789abcdef.new"
    half.write_bytes(b"half of a pack")
    assert store.begin("run") == 2
    assert not half.exists()
