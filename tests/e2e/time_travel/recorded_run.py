"""A recorded run to travel in: one agent that writes some files, and what its log says of its steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.cli.shell import Ended, Shell, call, says

TASK = "Write some files"
REPLIES = (
    says("developer", call("write", file_path="a.txt", content="one\n"), text="I begin."),
    says("developer", call("bash", command="echo two >> a.txt; mkdir -p sub; echo x > sub/b.txt")),
    says("developer", call("write", file_path="c.txt", content="three\n"), text="Almost there."),
    says("developer", call("complete", summary="All written.")),
)
FILES = [{}, {"a.txt": "one\n"}, {"a.txt": "one\ntwo\n", "sub/b.txt": "x\n"}]
FILES.append({**FILES[2], "c.txt": "three\n"})
"""The workspace before the first tool call, and after each."""

Typed = Callable[..., Ended]


class Travel:
    """A run, and the commands on it as a person types them."""

    def __init__(
        self, rawko: Shell, typed: Typed, *replies: Mapping[str, Any], agent: str | None = "developer"
    ) -> None:
        self.rawko, self.typed = rawko, typed
        scenario = rawko.scenario(*(replies or REPLIES))
        words = ["run", TASK, "--scenario", str(scenario), "--yes", "--json", "--quiet"]
        ended = typed(*words, *(("--agent", agent) if agent else ()))
        self.report = ended.report
        self.run: str = self.report["run"]

    def at(self, place: int | str) -> str:
        return f"{self.run}@{place}"

    def log(self, run: str | None = None) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.typed("log", run or self.run, "--json").out.splitlines()]

    def step(self, event: str, number: int = 1, run: str | None = None) -> int:
        """The number of the n-th step about an event."""
        found = [row["seq"] for row in self.log(run) if row["event"] is not None and row["event"]["name"] == event]
        return int(found[number - 1])

    def after_tool(self, number: int) -> int:
        """The step in which the snapshot after the n-th tool call was taken in."""
        return self.step("done.invoke.capture_snapshot", number)

    def resume(self, run: str | None = None, *words: str) -> Ended:
        return self.typed("resume", run or self.run, "--json", "--quiet", *words)

    def listed(self, run: str | None = None) -> dict[str, Any]:
        """The run as `rawko runs` lists it."""
        lines = [json.loads(line) for line in self.typed("runs", "--json").out.splitlines()]
        return next(line for line in lines if line["run"] == (run or self.run))

    def files(self, folder: Path | None = None) -> dict[str, str]:
        return files_of(folder or self.rawko.folder)


def files_of(folder: Path) -> dict[str, str]:
    """What lies in a folder, without what is git's or rawko's."""
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".git", ".rawko"} & set(path.relative_to(folder).parts)
    }
