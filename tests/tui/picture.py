"""The picture of the terminal view in docs/watch.md: `python -m tests.tui.picture` runs a task and draws it.

Part of `make docs`. Times of steps differ from drawing to drawing, so no test compares the picture.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rawko.app.inspection.acting import Actor
from rawko.app.records.record import list_records
from rawko.config import Flags, load_settings
from rawko.tui.app import WatchApp
from tests.cli.shell import Shell

PICTURE = Path(__file__).parents[2] / "docs" / "watch.svg"
SIZE = (132, 40)
STEP = 29
"""The developer's test has failed: two guards were asked, an agent works below the orchestrator."""


async def draw(shell: Shell) -> str:
    """The view of the latest run at one of its steps, which is unfolded."""
    settings = load_settings(shell.folder, Flags(), {**shell.environ(), "RAWKO_PROVIDER": "anthropic"})
    app = WatchApp(list_records(settings)[-1].run, settings, Actor(settings, "ada"))
    async with app.run_test(size=SIZE) as pilot:
        while app.watched is None or app.watched.is_catching_up or not app.lists.all:
            await pilot.pause(0.1)
        await pilot.press("home")
        while (step := app.lists.steps.current) is not None and step.view.number < STEP:
            await pilot.press("down")
        await pilot.press("enter")
        await pilot.pause(2.0)
        svg = app.export_screenshot(title="rawko watch")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts that a reader would fetch


def main() -> int:
    """Run the task, draw its view, write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "rawko",
                "run",
                "Write fizzbuzz with a test",
                "--yes",
                "--scenario",
                "fizzbuzz",
                "--quiet",
            ],
            cwd=shell.folder,
            env={**shell.environ(), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            return done.returncode
        PICTURE.write_text(asyncio.run(draw(shell)), encoding="utf-8")
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
