"""A run with real tools whose every command shows if it was carried out twice or not at all; and its killing.

python -m tests.e2e.killing.killed_run [SECONDS]    # kill for so long at random, and tell what was found
"""

from __future__ import annotations

import asyncio
import json
import random
import stat
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rawko.app import Run
from rawko.app.records.journal import open_journal
from rawko.app.records.record import RunRecord, read_record
from rawko.app.run.external_edits import CAPTURE
from rawko.config import Flags, load_settings
from rawko.runtime.replay.replay import replay
from tests.cli.shell import call, says
from tests.e2e.killing.nursery import Fate, Nursery, Order

REPLIES = (
    says("developer", call("write", file_path="log.txt", content="begin\n"), text="I begin the log."),
    says("developer", call("bash", command="echo one >> log.txt; mkdir -p a/b; echo x > a/b/x")),
    says(
        "developer",
        call("read", file_path="log.txt"),
        call("bash", command="echo two >> log.txt; mv a/b a/c"),
        call("edit", file_path="log.txt", old_string="begin", new_string="begun"),
        text="Three at once.",
    ),
    says("developer", call("bash", command="echo three >> log.txt; rm -r a; ln -s log.txt link; false")),
    says("developer", call("glob", pattern="**/*"), text="A look around. " * 20),
    says("developer", call("bash", command="chmod +x log.txt; cat log.txt > copy; echo four >> log.txt")),
    says("developer", call("complete", summary="The log is written."), text="Done."),
)
LOG = "begun\none\ntwo\nthree\nfour\n"
RUN = "20260101-000000-abcdef"
_COMPARED = ("state", "outcome", "iterations", "usage", "files_changed", "summary", "diff")
Tree = dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Result:
    """What is left of a run.

    Attributes:
        tree: Mode and content (of a link: where it leads) by path.
        model_calls: That were begun, in all processes together.
    """

    tree: Tree
    messages: list[Any]
    report: dict[str, Any]
    model_calls: int


@dataclass(slots=True)
class Bed:
    """A folder in which one run lives, and dies."""

    nursery: Nursery
    base: Path
    replies: tuple[dict[str, Any], ...] = REPLIES
    fates: list[Fate] = field(default_factory=list)

    def __post_init__(self) -> None:
        for folder in ("project", "home"):
            (self.base / folder).mkdir(parents=True)
        scenario = {"scenario": "killed", "replies": self.replies}
        (self.base / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")

    @property
    def kills(self) -> int:
        return sum(1 for fate in self.fates if fate.signal)

    def play(self, **how: Any) -> Fate:
        """Begin the run, or go on with it where it has begun."""
        is_begun = any(self.base.glob(f"state/*/runs/{RUN}/run.json"))
        fate = self.nursery.play(Order(str(self.base), RUN, is_resumed=is_begun, **how))
        self.fates.append(fate)
        return fate

    def finish(self) -> Fate:
        """Go on to the end, unless it has come already."""
        if any(self.base.glob(f"state/*/runs/{RUN}/report.json")):
            return self.fates[-1]
        return self.play()

    def outcome(self) -> str:
        """What `rawko runs` shows of the run."""
        return self._record().outcome

    def captures(self) -> list[int]:
        """Rows after which a snapshot of the files was begun."""
        rows = asyncio.run(_rows(self._run()))
        return [row.seq for row in rows if any(e["type"] == "start" and e["src"] == CAPTURE for e in row.effects)]

    def rows(self) -> int:
        """How many rows the journal holds."""
        return len(asyncio.run(_rows(self._run())))

    def _run(self) -> Run:
        """The run as any other process would find it."""
        record = self._record()
        return Run(record.settings, record.task, record.agent, id=RUN)

    def _record(self) -> RunRecord:
        environ = {
            "RAWKO_STATE_DIR": str(self.base / "state"),
            "HOME": str(self.base / "home"),
            "RAWKO_JOURNAL_URL": self.nursery.journal_url or "",
        }
        settings = load_settings(self.base / "project", Flags(), {**environ, "RAWKO_PROVIDER": "anthropic"})
        return read_record(RUN, settings)

    def result(self) -> Result:
        """What is there, read as any other process would."""
        record = self._record()
        rows, snapshot = asyncio.run(_recorded(self._run()))
        report = {} if record.report is None else {name: record.report.get(name) for name in _COMPARED}
        calls = [e for row in rows for e in row.effects if e["type"] == "start" and e["src"] == "stream_agent"]
        return Result(tree_of(self.base / "project"), snapshot["context"]["messages"], report, len(calls))

    def left_behind(self) -> list[str]:
        """What should not be there after the end: notes of commands and of restores, half-written files."""
        patterns = ("state/*/running/*/*", "state/*/snapshots/*.restore*", "state/*/runs/*/.report*", "state/**/*.tmp")
        return [str(path.relative_to(self.base)) for pattern in patterns for path in self.base.glob(pattern)]


async def _rows(run: Run) -> Any:
    journal = open_journal(run.settings)
    try:
        return await journal.rows(run.id)
    finally:
        await journal.aclose()


async def _recorded(run: Run) -> tuple[Any, dict[str, Any]]:
    journal = open_journal(run.settings)
    try:
        chart, bindings, given = run.machine()
        replayed = await replay(journal, run.id, chart, bindings, input=given)
        assert replayed.snapshot is not None
        return await journal.rows(run.id), replayed.snapshot
    finally:
        await journal.aclose()


def tree_of(folder: Path) -> Tree:
    """All files of a folder."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path.relative_to(folder))] = (0, str(path.readlink()))
        elif stat.S_ISREG(mode):
            found[str(path.relative_to(folder))] = (stat.S_IMODE(mode), path.read_text(encoding="utf-8"))
    return found


def check(bed: Bed, calm: Result, *, more_calls: int = 0, may_leave: str = "") -> None:
    """A run that was killed must have ended as the one that was not.

    Args:
        more_calls: Of the model, for other interruptions than kills.
        may_leave: How the names of files end that the next run of the folder removes.
    """
    told = f"killed at {[(f.moments, f.acknowledged, round(f.took_ms)) for f in bed.fates]}"
    for fate in bed.fates:
        assert not fate.words, f"{told}: {fate.words}"
        assert more_calls or not fate.refused, f"{told}: {fate.refused}"
    found = bed.result()
    for part in ("tree", "messages", "report"):
        one, other = getattr(found, part), getattr(calm, part)
        assert one == other, f"{told}: {part} {one} is not {other}"
    assert found.model_calls - calm.model_calls <= bed.kills + more_calls, f"{told}: {found.model_calls} model calls"
    left = [path for path in bed.left_behind() if not (may_leave and path.endswith(may_leave))]
    assert left == [], f"{told}: {left}"


@contextmanager
def beds(folder: Path) -> Iterator[tuple[Nursery, Result, int]]:
    """A nursery, the result of a run that nobody kills, and how many moments that has."""
    with Nursery() as nursery:
        calm = Bed(nursery, folder / "calm")
        fate = calm.play()
        assert (fate.signal, fate.code, fate.words) == (0, 0, "")
        result = calm.result()
        assert result.tree["log.txt"][1] == LOG
        yield nursery, result, fate.moments


def main(seconds: float, seed: int) -> None:
    """Kill at random for a while: at moments and at times, the run and its resumes, up to six times each."""
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    runs = kills = failures = 0
    with tempfile.TemporaryDirectory(prefix="rawko-kills-") as folder, beds(Path(folder)) as (nursery, calm, moments):
        while time.monotonic() < until:
            runs += 1
            with tempfile.TemporaryDirectory(dir=folder) as place:
                bed = Bed(nursery, Path(place) / "bed")
                for _ in range(chance.randint(1, 6)):
                    at_moment = {"kill_at": chance.randint(1, moments + 5)}
                    at_time = {"kill_after_ms": chance.uniform(5, 450)}
                    if not bed.play(**chance.choice((at_moment, at_time))).signal:
                        break
                bed.finish()
                kills += bed.kills
                try:
                    check(bed, calm)
                except Exception:  # noqa: BLE001 - whatever was found is told, and the search goes on
                    failures += 1
                    print(f"run {runs} (seed {seed}): {traceback.format_exc()}"[-3000:], flush=True)
    print(f"seed {seed}: {runs} runs, {kills} kills, {failures} failures")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60, int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns())
