"""Many runs on two workers that are killed at random: each run ends once, with the files of an undisturbed one.

RAWKO_TEST_POSTGRES_URL=... python -m tests.fleet.killing [RUNS [KILLS]]
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from rawko.fleet.fleet import Fleet
from tests.cli.shell import call, says
from tests.fleet.bed import Bed
from tests.fleet.databases import fresh_database

LINES = ("one", "two", "three", "four")
REPLIES = (
    *(says("developer", call("bash", command=f"echo {line} >> log.txt")) for line in LINES),
    says("developer", call("complete", summary="Written.")),
)
SEED = 14


def main(runs: int = 40, kills: int = 12) -> int:
    """Carry it out; 0 where all is as it should be."""
    chance = random.Random(SEED)
    with fresh_database() as url, tempfile.TemporaryDirectory() as folder:
        environ = {"RAWKO_FLEET_URL": url.render_as_string(hide_password=False)}
        with Fleet.open(environ) as fleet:
            bed = Bed(Path(folder), environ, fleet)
            names = [bed.submit(*REPLIES) for _ in range(runs)]
            workers = [bed.worker("--slots", "2") for _ in range(2)]
            begun, killed = time.monotonic(), 0
            while any(bed.task(name).state not in ("ended", "dead") for name in names):
                time.sleep(chance.uniform(0.5, 3.0))
                if killed < kills:
                    which = chance.randrange(len(workers))
                    workers[which].signal(signal.SIGKILL, whole_family=chance.random() < 0.5)
                    workers[which] = bed.worker("--slots", "2")
                    killed += 1
                print(f"{time.monotonic() - begun:6.1f} s  {killed} killed  {fleet.queues()[0].counts}", flush=True)
            wrong = [problem for name in names if (problem := _problem(bed, name))]
            bed.close()
    print(f"{runs} runs, {killed} workers killed, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


def _problem(bed: Bed, name: str) -> str:
    task = bed.task(name)
    if task.outcome != "success":
        return f"{name}: {task.state}, {task.outcome}, {task.reason}"
    found = (bed.workspace(name) / "log.txt").read_text().split()
    rows = [seq for seq, _ in bed.rows(name)]
    if found != list(LINES):
        return f"{name}: files {found}"
    return "" if rows == list(range(1, len(rows) + 1)) else f"{name}: rows {rows}"


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
