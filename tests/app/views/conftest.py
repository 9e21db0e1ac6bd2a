"""Fixtures: `rawko` typed in this process, on each database that is there; the views as a face reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rawko.app.records.record import read_record
from rawko.app.views.reading import StepReader, open_steps
from rawko.app.views.steps import StepView
from rawko.app.views.summary import RunView, read_run, read_runs
from rawko.config import Flags, Settings, load_settings
from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Ended, Shell
from tests.journal.databases import DATABASES, Journals, database
from tests.thorough import further

__all__ = ["rawko", "typed"]


@dataclass(frozen=True)
class Desk:
    """A folder, the commands that are typed in it, and what faces read of it."""

    shell: Shell
    type: Callable[..., Ended]
    env: dict[str, str]
    journal: Callable[[], Journals]

    def typed(self, *words: str, **options: object) -> Ended:
        return self.type(*words, env=self.env, **options)

    def settings(self) -> Settings:
        return load_settings(self.shell.folder, Flags({}), self.shell.environ(self.env))

    def steps(self, run: str, after: int = 0) -> list[StepView]:
        return asyncio.run(self._steps(run, after))

    async def _steps(self, run: str, after: int) -> list[StepView]:
        async with open_steps(read_record(run, self.settings()), after) as reader:
            return [view async for view in reader.steps()]

    def read(self, run: str, use: Callable[[StepReader], object]) -> object:
        async def go() -> object:
            async with open_steps(read_record(run, self.settings())) as reader:
                result = use(reader)
                return await result if asyncio.iscoroutine(result) else result

        return asyncio.run(go())

    def run(self, run: str) -> RunView:
        return asyncio.run(read_run(run, self.settings()))

    def runs(self) -> list[RunView]:
        return asyncio.run(read_runs(self.settings()))


@pytest.fixture(params=[DATABASES[0], *further(*DATABASES[1:])])
def desk(request: pytest.FixtureRequest, rawko: Shell, typed: Typed, tmp_path: Path) -> Iterator[Desk]:
    """A desk whose journal is a file; among the tests that take longer, and where one names them, in each database."""
    with database(request.param, tmp_path) as where:
        env = {"RAWKO_JOURNAL_URL": where} if isinstance(where, str) else {}
        place = where if isinstance(where, str) else None
        yield Desk(rawko, typed, env, lambda: Journals(place or next(rawko.state.glob("*/journal.db"))))
