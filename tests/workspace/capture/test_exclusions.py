"""What a workspace holds and a snapshot does not: each row of the table, by capturing and by searching."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rawko.patterns.exclusions import EXCLUSIONS, MAX_DEPTH, is_git_name
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from rawko.workspace import SnapshotStore

BIG = 2_000
"""The bound of these tests; a file of 100 MiB would show the same."""


def populate(root: Path) -> None:
    def write(path: str, text: str = "needle\n") -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    write("kept.txt")
    write("inner/.git/HEAD")
    write("inner/.GIT/HEAD")
    write("ignored.log")
    write(".gitignore", "*.log\n")
    write("/".join(["d"] * (MAX_DEPTH + 1)) + "/deep.txt")
    write("big.txt", "needle\n" * BIG)
    write("closed.txt")
    (root / "closed.txt").chmod(0)
    (root / "empty").mkdir()
    (root / "link").symlink_to("kept.txt")
    os.mkfifo(root / "pipe")
    write("state/notes.txt")


ROWS = {
    # file of the table's row: captured, told as skipped, listed by glob, found by grep
    "kept.txt": (True, False, True, True),
    "inner/.git/HEAD": (False, False, False, False),
    "inner/.GIT/HEAD": (False, True, False, False),
    "ignored.log": (False, False, False, False),
    "/".join(["d"] * (MAX_DEPTH + 1)) + "/deep.txt": (False, True, False, False),
    "big.txt": (False, True, True, True),
    "closed.txt": (False, True, True, False),
    "link": (True, False, True, False),
    "pipe": (False, False, True, False),
    "empty": (False, False, False, False),
    "state/notes.txt": (False, False, True, True),
}


@pytest.mark.parametrize("path", ROWS)
def test_a_capture_that_is_told_of_a_path_leaves_out_the_same(tmp_path: Path, path: str) -> None:
    """After a tool call only the paths that it touched are looked at: `hinted_scan` beside `full_scan`."""
    root = tmp_path / "workspace"
    root.mkdir()
    (root / ".gitignore").write_text("*.log\n")
    with SnapshotStore.open(root, tmp_path / "store", run="r", exclude=[root / "state"], max_file_bytes=BIG) as store:
        before = store.capture()
        populate(root)
        hinted = store.capture([path])
        captured = {change.path for change in store.changes(before.tree, hinted.tree)}
    is_readable = path == "closed.txt" and os.geteuid() == 0
    is_written = path == "ignored.log"  # a tool that names an ignored file has written it
    assert (path in captured) == (ROWS[path][0] or is_readable or is_written)


async def test_each_row_of_the_table_is_as_it_says(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    with SnapshotStore.open(root, tmp_path / "store", run="r", exclude=[root / "state"], max_file_bytes=BIG) as store:
        before = store.capture()
        populate(root)
        snapshot = store.capture()
        captured = {change.path for change in store.changes(before.tree, snapshot.tree)}
        skipped = snapshot.skipped
    toolbox = build_toolbox(root, state_dir=tmp_path / "own", agents={"a": ToolAccess()}, assume_yes=True)

    async def lines(tool: str, **given: object) -> list[str]:
        outcome = await toolbox.run("a", ToolCall(id="c", name=tool, input=given))
        return outcome.content.splitlines()

    listed = await lines("glob", pattern="**/*")
    found = [line.partition(":")[0] for line in await lines("grep", pattern="needle", files_only=True)]
    await toolbox.aclose()
    is_root = os.geteuid() == 0  # who reads a file that nobody may read
    for path, expected in ROWS.items():
        if path == "closed.txt" and is_root:
            expected = (True, False, True, True)
        is_told = any(path == one or path.startswith(one + "/") for one in skipped)
        assert (path in captured, is_told, path in listed, path in found) == expected, path


def test_the_table_has_a_row_for_each(tmp_path: Path) -> None:
    assert len(EXCLUSIONS) == 9
    assert len({row.what for row in EXCLUSIONS}) == len(EXCLUSIONS)


@pytest.mark.parametrize(
    ("name", "is_git"), [(".git", True), (".GiT", True), (".gitignore", False), ("git", False), (".hg", False)]
)
def test_git_is_known_by_its_name(name: str, is_git: bool) -> None:
    assert is_git_name(name) == is_git
    assert is_git_name(name.encode()) == is_git
