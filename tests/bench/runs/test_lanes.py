"""Two lanes at once beside the same two one after the other: `make bench`. Their models take 1 s for each answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rawko.app import Report, Run
from rawko.config import Flags, load_settings
from rawko.trust.project import grant
from tests.cli.shell import Shell, call, says
from tests.e2e.lanes.lanes_project import make_project


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """One project for both: its functions are imported once per process."""
    made = Shell(tmp_path_factory.mktemp("lanes"))
    make_project(made)
    return made


@pytest.mark.benchmark(group="lanes")
@pytest.mark.parametrize("jobs", [1, 2], ids=["one after the other", "at once"])
def test_two_lanes(shell: Shell, benchmark: Any, jobs: int) -> None:
    shell.write(".rawko/config.yaml", f"lanes: {{jobs: {jobs}}}\n")
    replies = [
        {**says("writer", reply), "delay": "1s"}
        for reply in (call("write", file_path="out.txt", content="x"), call("complete", summary="Done."))
    ]
    scenario = str(shell.scenario(*replies))

    def run() -> Report:
        flags = Flags({"scenario": scenario}, assume_yes=True)
        settings = load_settings(shell.folder, flags, shell.environ(), judge=grant)
        return asyncio.run(Run(settings, "Go", agent="pair").execute())

    report = benchmark.pedantic(run, rounds=3)
    assert report.outcome == "success" and report.usage.calls == 4
