"""What the terminal view costs in a long run: opening it, a key, a step that comes.

    python -m tests.bench.views.terminal_view [--steps 5000] [--rounds 5]

A run of about as many journal rows as asked is made by `rawko run` itself, with a scripted model, and a run of a few
rows beside it. Each opening is a process of its own, which shows the latest step and ends; runs are opened in turn.
Figures are CPU time of that process, the smallest of the rounds: other load only adds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rawko.app.inspection.acting import Actor
from rawko.tui.app import WatchApp
from tests.bench.runs.long_run import AGENT
from tests.cli.shell import Shell, call, says
from tests.tui.viewing import settings_of

ROWS_PER_WRITE = 4
KEYS = 20


@dataclass(frozen=True, slots=True)
class Figures:
    """CPU milliseconds: the process until the latest step is on the screen; one key up; `l`; all steps, by Home."""

    opening_ms: float
    up_ms: float
    all_ms: float
    home_ms: float


def made(shell: Shell, name: str, steps: int) -> str:
    """A run of about as many rows, which has ended; its id."""
    shell.write(".rawko/agents/developer.yaml", AGENT)
    writes = (
        says("developer", call("write", file_path=f"{n % 20}.txt", content=f"{n}\n"))
        for n in range(steps // ROWS_PER_WRITE)
    )
    scenario = shell.scenario(*writes, says("developer", call("complete", summary="Done.")), name=f"{name}.yaml")
    words = (
        "run",
        "Write",
        "--agent",
        "developer",
        "--yes",
        "--trust",
        "--max-iterations",
        "100000",
        "--json",
        "--quiet",
    )
    return str(shell(*words, "--scenario", str(scenario), timeout_s=3_600).report["run"])


async def opened(shell: Shell, run: str) -> Figures:
    """Open a run in this process, and press keys."""
    settings = settings_of(shell)
    app = WatchApp(run, settings, Actor(settings, "ada"))
    async with app.run_test(size=(120, 36)) as pilot:
        while app.watched is None or app.watched.is_catching_up or not app.lists.all:
            await pilot.pause(0.01)
        await pilot.pause()
        opening = time.process_time()
        await pilot.press(*["up"] * KEYS)
        up = time.process_time()
        await pilot.press("l", "l")
        both = time.process_time()
        await pilot.press("home")
        while app.lists.all[0].view.number > 1:
            await pilot.pause(0.01)
        await pilot.pause()
        home = time.process_time()
    return Figures(opening * 1000, (up - opening) * 1000 / KEYS, (both - up) * 500, (home - both) * 1000)


def measure(shell: Shell, run: str) -> Figures:
    """Open a run in a process of its own."""
    words = [sys.executable, "-m", "tests.bench.views.terminal_view", "--open", str(shell.folder.parent), run]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2_000:])
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def smallest(found: Sequence[Figures]) -> Figures:
    return Figures(**{one.name: min(getattr(figures, one.name) for figures in found) for one in fields(Figures)})


class Existing(Shell):
    """The folder of a shell that another process has made."""

    def __init__(self, base: Path) -> None:
        self.folder, self.state, self.home = base / "project", base / "state", base / "home"


def compared(steps: Mapping[str, int], rounds: int) -> dict[str, Figures]:
    """Runs of so many steps, opened in turn."""
    with tempfile.TemporaryDirectory() as base:
        shell = Shell(Path(base))
        runs = {name: made(shell, str(number), number) for name, number in steps.items()}
        found: dict[str, list[Figures]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                found[name].append(measure(shell, run))
    return {name: smallest(each) for name, each in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.views.terminal_view", description=__doc__)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--open", nargs=2, metavar=("FOLDER", "RUN"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.open:
        figures = asyncio.run(opened(Existing(Path(given.open[0])), given.open[1]))
        print(json.dumps(asdict(figures)))
        return 0
    found = compared({"a few steps": ROWS_PER_WRITE, f"{given.steps:,} steps": given.steps}, given.rounds)
    print("| CPU, ms | open | one key up | `l` | Home, all steps read |", "|---|---:|---:|---:|---:|", sep="\n")
    for name, one in found.items():
        cells = (one.opening_ms, one.up_ms, one.all_ms, one.home_ms)
        print(f"| {name} | {' | '.join(f'{cell:,.1f}' for cell in cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
