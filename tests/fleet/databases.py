"""Databases for the fleet's tests: one of their own each, copied from one that is prepared once."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from sqlalchemy import URL, create_engine, make_url, text

from tests.postgres import URL_VARIABLE


def server() -> URL:
    """The address of the tests' PostgreSQL; without one, or without dbos, the test is skipped."""
    pytest.importorskip("dbos", reason="dbos is not installed: pip install 'rawko[fleet]'")
    base = os.environ.get(URL_VARIABLE)
    if not base:
        pytest.skip(f"no PostgreSQL: {URL_VARIABLE} is not set (`.ci/run` and `make fleet-test` start one)")
    return make_url(base)


@contextmanager
def fresh_database(*, is_empty: bool = False) -> Iterator[URL]:
    """A database without tasks, whose tables are there unless it is to be empty."""
    base, name = server(), f"fleet_{secrets.token_hex(6)}"
    template = "template0" if is_empty else _template(base)
    execute(base, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield base.set(database=name)
    finally:
        execute(base, f"DROP DATABASE {name} WITH (FORCE)")


@cache
def _template(base: URL) -> str:
    """A database with the fleet's tables, one for each process of the tests."""
    from rawko.fleet.fleet import Fleet

    name = f"fleet_template_{secrets.token_hex(6)}"
    execute(base, f"CREATE DATABASE {name} TEMPLATE template0")
    Fleet.open({"RAWKO_FLEET_URL": base.set(database=name).render_as_string(hide_password=False)}).close()
    return name


def execute(base: URL, statement: str) -> None:
    """Carry out a statement in a database, as an administrator would."""
    engine = create_engine(base, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(statement))
    finally:
        engine.dispose()
