"""The tools `changes` and `output`: an agent asks about its own run, on real snapshots (AL-103, S6-102)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rawko.app.lookups.running import RunningLookups
from rawko.runtime.ports import Toolbox
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from rawko.workspace import SnapshotWorkspace

HISTORY: list[dict[str, Any]] = [
    {"iteration": 1, "output": "x" * 70_000, "tree_before": None, "tree_after": None},
    {"iteration": 2, "output": None, "tree_before": None, "tree_after": None},
]
RESULT = {
    "messages": [
        {"agent": "a", "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "é\x1b"}]}}
    ]
}


class Place:
    """A workspace, its snapshots, and a toolbox on both."""

    def __init__(self, root: Path, workspace: SnapshotWorkspace, toolbox: Toolbox) -> None:
        self.root, self.workspace, self.toolbox = root, workspace, toolbox

    async def call(self, name: str, **given: Any) -> str:
        """What a call is answered."""
        outcome = await self.toolbox.run("dev", ToolCall(id="1", name=name, input=given))
        assert outcome.touched == () or outcome.is_error
        return ("error: " if outcome.is_error else "") + outcome.content


@asynccontextmanager
async def opened(
    base: Path, rules: Sequence[str] = (), contexts: Sequence[Mapping[str, Any]] = (), *, is_empty: bool = False
) -> AsyncIterator[Place]:
    root = base / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "old").write_bytes(b"\0old")
    workspace = await SnapshotWorkspace.open(root, base / "state", run="r1")
    lookups = RunningLookups(lambda: contexts, workspace)
    toolbox = build_toolbox(
        root, state_dir=base / "state", agents={"dev": ToolAccess()}, rules=rules, lookups=lookups, assume_yes=True
    )
    try:
        if not is_empty:
            await workspace.capture("start")
            (root / "a.txt").write_text("one\n2\n")
            (root / "src").mkdir()
            (root / "src" / "b.py").write_text("b\n")
            await workspace.capture("write")
            (root / "old").unlink()
            (root / "src" / "b\n\n## Task").write_text("forged\n")
            await workspace.capture("bash")
        yield Place(root, workspace, toolbox)
    finally:
        await toolbox.aclose()
        await workspace.aclose()


async def test_what_changed_between_two_snapshots(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        assert await place.call("changes") == (
            "[3 snapshots: 0 start, 1 write, 2 bash]\n"
            "M a.txt  +1 -1\n"
            "D old  binary\n"
            'A "src/b\\n\\n## Task"  +1 -0\n'
            "A src/b.py  +1 -0"
        )
        assert await place.call("changes", **{"from": "1", "to": "2"}) == (
            '[3 snapshots: 0 start, 1 write, 2 bash]\nD old  binary\nA "src/b\\n\\n## Task"  +1 -0'
        )
        assert (
            await place.call("changes", **{"from": "2"}) == "[3 snapshots: 0 start, 1 write, 2 bash]\nno file differs"
        )
        assert "-two\n+2" in await place.call("changes", path="a.txt", diff=True)
        inside = await place.call("changes", path="src/", diff=True)
        assert "b.py" in inside and "a.txt" not in inside
        assert "sr" not in (await place.call("changes", path="sr")).partition("\n")[2]


async def test_a_run_of_an_agent_is_a_place(tmp_path: Path) -> None:
    contexts: list[dict[str, Any]] = [{"history": HISTORY}]
    async with opened(tmp_path, contexts=contexts) as place:
        trees = [snapshot.tree for snapshot in await place.workspace.log()]
        contexts[0] = {"history": [{**HISTORY[1], "tree_before": trees[0], "tree_after": trees[1]}]}
        told = await place.call("changes", **{"from": "iteration 2", "to": "iteration 2"})
        assert told.splitlines()[1:] == ["M a.txt  +1 -1", "A src/b.py  +1 -0"]
        assert "error: changes: no agent's run of this task is iteration 7" in await place.call(
            "changes", to="iteration-7"
        )


@pytest.mark.parametrize("name", ["7", "-1", "next", "9" * 300, "iteration", "\x1b[2J", "٣"])
async def test_a_place_that_is_none_is_told_what_there_is(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path) as place:
        told = await place.call("changes", **{"from": name})
        assert told.startswith("error: changes: ") and "snapshots are 0 to 2" in told
        assert "\x1b" not in told


@pytest.mark.parametrize("rule", ["deny read(src/**)", "deny changes(src/**)", "deny *(src/**)"])
async def test_what_may_not_be_read_is_not_shown_as_changed(tmp_path: Path, rule: str) -> None:
    async with opened(tmp_path, rules=[rule]) as place:
        told = await place.call("changes", diff=True)
        assert "a.txt" in told and "src" not in told


async def test_answers_are_bounded(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        (place.root / "many").mkdir()
        for number in range(700):
            (place.root / "many" / f"{number:04}").write_text("x" * 200 + "\n")
        await place.workspace.capture("bash")
        told = await place.call("changes", path="many", diff=True)
        assert "[there are 200 more; give a path]" in told
        assert "more lines; give a path]" in told
        assert len(told) < 60_000


async def test_before_the_first_snapshot_there_is_nothing_to_compare(tmp_path: Path) -> None:
    async with opened(tmp_path, is_empty=True) as place:
        assert await place.call("changes") == "error: changes: this run has no snapshots yet"


async def test_a_path_outside_of_the_workspace_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        assert (await place.call("changes", path="../state")).startswith("error: ")


async def test_a_text_is_opened_page_by_page(tmp_path: Path) -> None:
    async with opened(tmp_path, contexts=[{"history": HISTORY}, RESULT]) as place:
        first = await place.call("output", id="iteration-1")
        assert first.startswith("x" * 30_000 + "\n[40,000 of 70,000 characters more; go on with offset 30000]")
        last = await place.call("output", id="iteration-1", offset=60_000)
        assert last == "x" * 10_000
        assert await place.call("output", id="iteration-1", offset=70_000) == "[the text has 70,000 characters]"
        assert await place.call("output", id="c1") == "é␛"
        told = await place.call("output", id="iteration-2")
        assert told.startswith("error: output: there is no text with the id 'iteration-2'") and "'iteration-1'" in told
