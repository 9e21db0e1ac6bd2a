"""Checks with real commands in real folders: passing, failing, hanging, flooding, changing files, missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError

from rawko.app.checks.check import MAX_OUTPUT_BYTES, OUTPUT_CHARS, Check, CheckResult, Surroundings, run_check
from rawko.app.checks.gathering import Gatherer
from rawko.vocabulary.evidence import Demand, Evidence
from rawko.workspace import SnapshotWorkspace

SECRET = "sk-ant-not-for-commands"


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[SnapshotWorkspace]:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    async with await SnapshotWorkspace.open(folder, tmp_path / "state" / "snapshots", run="r") as opened:
        yield opened


@pytest.fixture
def surroundings(tmp_path: Path) -> Surroundings:
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY": SECRET, "HOME": str(tmp_path)}
    state = tmp_path / "state"
    return Surroundings(tmp_path / "work", state / "outputs" / "r", state / "running" / "r", environ)


@pytest.fixture
def gather(workspace: SnapshotWorkspace, surroundings: Surroundings) -> Gatherer:
    return Gatherer(lambda: surroundings, workspace)


async def checked(
    command: str, workspace: SnapshotWorkspace, surroundings: Surroundings, timeout_ms: int = 120_000
) -> CheckResult:
    return await run_check(Check("tests", command, timeout_ms), surroundings, workspace)


async def test_a_check_that_passes_says_for_which_files(
    workspace: SnapshotWorkspace, surroundings: Surroundings
) -> None:
    result = await checked("cat a.txt", workspace, surroundings)
    assert (result.passed, result.exit_code, result.stopped, result.changed) == (True, 0, "", ())
    assert result.output == "one\n[exit code 0]"
    assert result.tree == (await workspace.capture("look")).tree
    assert result.to_json()["command"] == "cat a.txt"


async def test_a_check_does_not_see_keys(workspace: SnapshotWorkspace, surroundings: Surroundings) -> None:
    result = await checked("env", workspace, surroundings)
    assert result.passed and SECRET not in result.output


async def test_each_check_starts_in_the_folder(
    tmp_path: Path, workspace: SnapshotWorkspace, surroundings: Surroundings
) -> None:
    await checked("cd /", workspace, surroundings)
    assert (await checked("pwd", workspace, surroundings)).output.startswith(str(tmp_path / "work"))


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("no-such-program-anywhere", 127), ("if", 2)])
async def test_a_check_that_fails_or_is_missing(
    workspace: SnapshotWorkspace, surroundings: Surroundings, command: str, code: int
) -> None:
    result = await checked(command, workspace, surroundings)
    assert (result.passed, result.exit_code) == (False, code)


async def test_a_check_that_hangs_is_stopped_with_its_children(
    tmp_path: Path, workspace: SnapshotWorkspace, surroundings: Surroundings
) -> None:
    pid = tmp_path / "pid"
    result = await checked(f"sleep 300 & echo $! > {pid}; wait", workspace, surroundings, timeout_ms=1_000)
    assert (result.passed, result.exit_code, result.stopped) == (False, None, "it ran longer than 1000 ms")
    assert not pid.exists() or not psutil.pid_exists(int(pid.read_text()))


async def test_a_check_that_floods_is_stopped_and_its_result_is_short(
    workspace: SnapshotWorkspace, surroundings: Surroundings
) -> None:
    result = await checked("yes", workspace, surroundings)
    assert (result.passed, result.exit_code) == (False, None)
    assert result.stopped == f"it wrote more than {MAX_OUTPUT_BYTES // 1_000_000} MB"
    assert len(result.output) <= OUTPUT_CHARS


async def test_what_a_check_changes_is_named_and_set_back(
    tmp_path: Path, workspace: SnapshotWorkspace, surroundings: Surroundings
) -> None:
    result = await checked("echo x > report.xml; echo two >> a.txt", workspace, surroundings)
    assert (result.passed, result.changed) == (True, ("a.txt", "report.xml"))
    assert (tmp_path / "work" / "a.txt").read_text() == "one\n"
    assert not (tmp_path / "work" / "report.xml").exists()
    assert result.tree == (await workspace.capture("look")).tree


# ---------------------------------------------------------------- evidence


async def found(gather: Gatherer, *demands: Demand, known: list[Evidence] | None = None) -> list[Evidence]:
    return await gather.gather(demands, known or [])


async def test_each_kind_of_evidence_holds_or_says_what_is_missing(gather: Gatherer) -> None:
    there = await found(
        gather,
        Demand(exists="a.txt"),
        Demand(check="grep -q one a.txt"),
        Demand(no_match="TODO"),
        Demand(monitor="agent_loop"),
    )
    assert [one.held for one in there] == [True] * 4
    assert len({one.tree for one in there}) == 1 and there[0].tree
    gone = await found(gather, Demand(exists="docs/*.md"), Demand(check="grep two a.txt"), Demand(no_match="one"))
    assert [(one.held, one.found) for one in gone] == [
        (False, "no file that is delivered fits 'docs/*.md'"),
        (False, "'grep two a.txt' failed with exit code 1"),
        (False, "'one' stands in a.txt"),
    ]


async def test_a_search_that_names_no_file_holds_nothing(gather: Gatherer) -> None:
    (one,) = await found(gather, Demand(no_match="TODO", files="src/**"))
    assert (one.held, one.found) == (False, "no file that is delivered fits 'src/**', so nothing was searched")


async def test_an_ignored_file_is_not_delivered(tmp_path: Path, gather: Gatherer) -> None:
    (tmp_path / "work" / ".gitignore").write_text("built.txt\n")
    (tmp_path / "work" / "built.txt").write_text("TODO")
    one, two = await found(gather, Demand(exists="built.txt"), Demand(no_match="TODO"))
    assert (one.held, two.held) == (False, True)


async def test_a_link_out_of_the_folder_is_not_searched(tmp_path: Path, gather: Gatherer) -> None:
    (tmp_path / "outside").write_text("TODO")
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")
    (one,) = await found(gather, Demand(no_match="TODO"))
    assert not one.held and "link cannot be searched" in one.found


async def test_a_check_that_passed_is_run_again_only_on_other_files(tmp_path: Path, gather: Gatherer) -> None:
    count = tmp_path / "count"
    demand = Demand(check=f"echo x >> {count}")
    first = await found(gather, demand)
    assert await found(gather, demand, known=first) == first
    assert count.read_text() == "x\n"
    (tmp_path / "work" / "a.txt").write_text("changed\n")
    second = await found(gather, demand, known=first)
    assert count.read_text() == "x\nx\n" and second[0].tree != first[0].tree


async def test_a_check_that_failed_is_run_again(tmp_path: Path, gather: Gatherer) -> None:
    demand = Demand(check=f"test -e {tmp_path / 'ready'}")
    first = await found(gather, demand)
    (tmp_path / "ready").touch()
    assert (first[0].held, (await found(gather, demand, known=first))[0].held) == (False, True)


async def test_no_demand_finds_nothing(gather: Gatherer) -> None:
    assert await gather([]) == []


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "demands nothing"),
        ({"check": "true", "exists": "a"}, "'check' and 'exists'"),
        ({"check": "  "}, "is no command"),
        ({"exists": "../secret"}, "climbs"),
        ({"exists": "/etc/passwd"}, "absolute"),
        ({"no_match": ""}, "at least 1 character"),
        ({"monitor": "agent_lop"}, "did you mean 'agent_loop'"),
        ({"check": "true", "timeout_ms": 0}, "greater than or equal to 100"),
    ],
)
def test_a_demand_that_means_nothing_is_refused(said: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Demand.model_validate(said)
