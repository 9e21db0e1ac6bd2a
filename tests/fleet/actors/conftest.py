"""`address`: of a database of the fleet without tasks; `start`: starts workers in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from tests.fleet.actors.processes import ActorWorkerProcess


@pytest.fixture
def address(database: URL) -> str:
    return database.set(drivername="postgresql").render_as_string(hide_password=False)


@pytest.fixture
def start(address: str, tmp_path: Path) -> Iterator[Callable[..., ActorWorkerProcess]]:
    made: list[ActorWorkerProcess] = []

    def begun(slots: int = 5) -> ActorWorkerProcess:
        made.append(ActorWorkerProcess(address, slots, tmp_path / f"worker-{len(made)}.log"))
        return made[-1]

    yield begun
    for one in made:
        one.kill()
