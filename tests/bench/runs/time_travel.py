"""What the first rewind, branch and fork after a long run cost, beside the time of writing the same files.

    python -m tests.bench.runs.time_travel --files 10000 --steps 200

One line per command: wall time, CPU time of the process and of what it starts (git), and the same of a bare
`cp -r` of the folder, measured right before and after it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.shell import call, says

_FOLDERS = 100
_LINES = 30
_AGENT = {"display_name": "Developer", "when_to_use": "Always.", "system_prompt": "Work."}
_TURN = 20
"""Writing steps between which an agent's answer holds one command that changes many files."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that a command took.

    Attributes:
        wall: By the clock.
        cpu: Of its own and of what it started, user and system.
    """

    wall: float
    cpu: float


def fill(folder: Path, files: int) -> None:
    """A git repository of small source files, all committed."""
    chance = random.Random(files)
    for number in range(files):
        path = folder / f"part{number % _FOLDERS:03}" / f"module{number}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        lines = (f"def f{line}(x):\n    return x + {chance.random()}\n" for line in range(_LINES))
        path.write_text("".join(lines), encoding="utf-8")
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "begin"]):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=folder, check=True)


def scenario(file: Path, files: int, steps: int) -> None:
    """One agent that writes a file in each step, and now and then runs a command that changes many."""
    replies = []
    for step in range(steps):
        number = step * 37 % files
        path = f"part{number % _FOLDERS:03}/module{number}.py"
        if step % _TURN == _TURN - 1:
            tool = call("bash", command=f"for f in part0{step % 10}*/*.py; do echo '# {step}' >> $f; done")
        else:
            tool = call("bash", command=f"echo '# {step}' >> {path}")
        replies.append(says("developer", tool))
    replies.append(says("developer", call("complete", summary="Done.")))
    (file.parent / "agents").mkdir()
    agent = {"name": "developer", "limits": {"turns": steps + 10, "tool_steps": steps + 10}, **_AGENT}
    (file.parent / "agents" / "developer.yaml").write_text(json.dumps(agent), encoding="utf-8")
    file.write_text(json.dumps({"scenario": "time travel", "replies": replies}), encoding="utf-8")


def timed(words: Sequence[str], folder: Path, environ: dict[str, str]) -> tuple[Cost, str]:
    """What a command costs, and what it printed.

    Raises:
        CalledProcessError: It failed; its words were printed.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu), done.stdout


def measure(root: Path, files: int, steps: int) -> None:
    folder, environ = root / "work", {**os.environ, "RAWKO_STATE_DIR": str(root / "state")}
    environ |= {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
    environ |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    folder.mkdir()
    fill(folder, files)
    scenario(root / "scenario.json", files, steps)

    def rawko(*words: str) -> tuple[Cost, str]:
        return timed([sys.executable, "-m", "rawko", *words], folder, environ)

    def copy() -> Cost:
        target = root / "copy"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        parts = sorted(str(one) for one in folder.glob("part*"))
        return timed(["cp", "-r", *parts, str(target)], folder, environ)[0]

    given = ["--scenario", str(root / "scenario.json"), "--agents", str(root / "agents"), "--agent", "developer"]
    given += ["--yes", "--quiet", "--json", "--max-iterations", str(steps + 10)]
    cost, said = rawko("run", "Change them", *given)
    run = json.loads(said.splitlines()[-1])["run"]
    tell("run", cost)
    rows = [json.loads(line) for line in rawko("log", run, "--json")[1].splitlines()]
    taken = [row["seq"] for row in rows if row["event"] and row["event"]["name"] == "done.invoke.capture_snapshot"]
    place = f"{run}@{taken[len(taken) // 2]}"
    tell("rawko --version", rawko("--version")[0])
    tell("cp -r", copy())
    tell("branch", rawko("branch", place, "result")[0])
    tell("fork", rawko("fork", place, "--into", str(root / "fork"))[0])
    tell("cp -r", copy())
    cost, said = rawko("rewind", place, "--json")
    tell(f"rewind ({len(json.loads(said)['files_changed'])} files)", cost)
    tell("rewind again", rawko("rewind", f"{run}@last", "--json")[0])


def tell(what: str, cost: Cost) -> None:
    print(f"{what:<24} {cost.wall:7.2f} s by the clock {cost.cpu:7.2f} s of CPU", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--files", type=int, default=10_000)
    asked.add_argument("--steps", type=int, default=200)
    asked.add_argument("--keep", type=Path, help="an empty folder that is left for a look")
    given = asked.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        measure(given.keep.absolute(), given.files, given.steps)
    else:
        with tempfile.TemporaryDirectory() as root:
            measure(Path(root), given.files, given.steps)


if __name__ == "__main__":
    main()
