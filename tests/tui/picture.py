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
from tests.cli.shell import Shell, call, judges, picks, says

PICTURE = Path(__file__).parents[2] / "docs" / "watch.svg"
SIZE = (132, 40)
FIZZBUZZ = 'def fizzbuzz(n):\n    return "Fizz" * (n % 3 == 0) + "Buzz" * (n % 5 == 0) or str(n)\n'
TEST = 'from fizzbuzz import fizzbuzz\n\nassert fizzbuzz(15) == "FizzBuzz"\nassert fizzbuzz(7) == "7"\n'
REPLIES = (
    picks("developer"),
    says("developer", call("write", file_path="fizzbuzz.py", content=FIZZBUZZ), text="I write the function first."),
    says("developer", call("write", file_path="test_fizzbuzz.py", content=TEST), text="Now a test for it."),
    says("developer", call("bash", command="python3 test_fizzbuzz.py && echo passed")),
    says("developer", call("edit", file_path="fizzbuzz.py", old_string="(n)", new_string="(n: int) -> str")),
    says("developer", call("bash", command="python3 test_fizzbuzz.py && echo passed")),
    says("developer", call("complete", summary="fizzbuzz with a test.")),
    judges("COMPLETE", summary="done"),
)


async def draw(shell: Shell, keys: tuple[str, ...]) -> str:
    """The view of the latest run, after some keys."""
    settings = load_settings(shell.folder, Flags(), {**shell.environ(), "RAWKO_PROVIDER": "anthropic"})
    app = WatchApp(list_records(settings)[-1].run, settings, Actor(settings, "ada"))
    async with app.run_test(size=SIZE) as pilot:
        while app.watched is None or app.watched.is_catching_up or not app.feed.all:
            await pilot.pause(0.1)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.5)
        svg = app.export_screenshot(title="rawko watch")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts that a reader would fetch


def main() -> int:
    """Run the task, draw its view, write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        scenario = str(shell.scenario(*REPLIES))
        done = subprocess.run(
            [sys.executable, "-m", "rawko", "run", "Write fizzbuzz with a test", "--yes", "--scenario", scenario],
            cwd=shell.folder,
            env={**shell.environ(), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            return done.returncode
        PICTURE.write_text(asyncio.run(draw(shell, ("home", "down", "down", "down", "enter"))), encoding="utf-8")
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
