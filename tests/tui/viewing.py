"""The view of a run in this process: real journal and snapshots, keys pressed, the screen as text."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from rawko.app import Run
from rawko.app.inspection.acting import Actor
from rawko.cli.watching.hosting import RunHost
from rawko.config import Flags, Settings, load_settings
from rawko.tui.app import WatchApp
from rawko.tui.drawing.cells import plain
from rawko.tui.widgets.lines import Lines
from tests.cli.shell import Shell


def settings_of(shell: Shell) -> Settings:
    return load_settings(shell.folder, Flags(), {**shell.environ(), "RAWKO_PROVIDER": "anthropic"})


class Viewed:
    """A view with its pilot."""

    def __init__(self, app: WatchApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self._pilot = pilot

    @property
    def screen(self) -> str:
        """The screen as text."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    async def until(self, text: str) -> str:
        """Wait until the screen shows a text, which may be wrapped; the screen."""
        for _ in range(1_200):
            if text in (screen := self.screen) or text in " ".join(screen.split()):
                return screen
            await self._pilot.pause(0.1)
        raise AssertionError(f"{text!r} was not shown:\n{self.screen}")

    async def until_gone(self, text: str) -> str:
        """Wait until the screen does not show a text any more; the screen."""
        for _ in range(1_200):
            if text not in (screen := self.screen):
                return screen
            await self._pilot.pause(0.1)
        raise AssertionError(f"{text!r} is still shown:\n{self.screen}")

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Press a key for each character, as typed."""
        await self._pilot.press(*("space" if char == " " else char for char in text))

    @property
    def chosen(self) -> str:
        """The line under the cursor of the dialog that is open."""
        told = self.app.screen.query_one("#told", Lines)
        return plain([told.current or ()])

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)

    async def go_to_step(self, number: int) -> None:
        """Move the cursor in the list of steps to a step, with the keys that a person would press."""
        await self.press("2", "home")
        while (step := self.app.lists.steps.current) is not None and step.view.number < number:
            await self.press("down")
        assert step is not None and step.view.number == number, step


@asynccontextmanager
async def hosted(
    shell: Shell, task: str, *replies: Mapping[str, Any], agent: str | None = None
) -> AsyncIterator[Viewed]:
    """A run of this process with its view, as `rawko run --tui`; cancelled at the end."""
    flags = Flags({"scenario": str(shell.scenario(*replies)), "assume_yes": True})
    run = Run(load_settings(shell.folder, flags, shell.environ()), task, agent=agent)
    host = RunHost(run, "ada")
    here = settings_of(shell)
    app = WatchApp(run.id, here, Actor(here, "ada"), host)
    async with app.run_test(size=(120, 36)) as pilot:
        yield Viewed(app, pilot)
        assert app.failure is None, app.failure
        host.cancel()
        await host.wait()
    host.report()


@asynccontextmanager
async def viewed(shell: Shell, run: str, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Viewed]:
    """The view of a run, once it shows the latest steps."""
    settings = settings_of(shell)
    app = WatchApp(run, settings, Actor(settings, "ada"))
    async with app.run_test(size=size) as pilot:
        found = Viewed(app, pilot)
        for _ in range(1_200):
            if app.watched is not None and app.lists.all and not app.watched.is_catching_up and not app.poller.reading:
                break
            await pilot.pause(0.1)
        yield found
        assert app.failure is None, app.failure


def lengthen(shell: Shell, run: str, rows: int) -> int:
    """Append copies of the run's last 3 tool steps to its journal; the number of the last row."""
    state = settings_of(shell).state_dir
    with sqlite3.connect(state / "journal.db") as database:
        [last] = database.execute("select last_seq from runs where run = ?", (run,)).fetchone()
        [first] = database.execute(
            "select min(seq) from steps where run = ? and event = 'done.invoke.execute_tool'", (run,)
        ).fetchone()
        database.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) "
            "insert into steps select s.run, ? + n.i, s.epoch, s.actor, s.time, s.event, s.receipt, s.body "
            "from n join steps s on s.run = ? and s.seq = ? + n.i % 3",
            (rows, last, run, first),
        )
        database.execute("update runs set last_seq = ? where run = ?", (last + rows, run))
    database.close()
    return int(last) + rows
