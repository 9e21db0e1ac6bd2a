"""`rawko run --again RUN`: a recorded run's task and settings once more, as a run of its own (S3-020, C-12)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.shell import Ended, Shell, call, judges, picks, says

Typed = Callable[..., Ended]
AGENT = """
name: developer
when_to_use: to write code
system_prompt: You are the developer of {era}.
"""


def test_a_run_is_done_again_on_the_files_as_they_are(rawko: Shell, typed: Typed) -> None:
    """Same task, agents, limits and scenario, whatever the project says by now; the first run stays as it is."""
    rawko.write(".rawko/agents/developer.yaml", AGENT.format(era="old"))
    replies = [
        picks("developer"),
        {**says("developer", call("write", file_path="a.txt", content="a\n")), "expect": {"system": "of old"}},
        says("developer", call("complete", summary="Done.")),
        judges("COMPLETE", summary="All done."),
    ]
    scenario = str(rawko.scenario(*replies))
    first = typed("run", "Make a", "--scenario", scenario, "--yes", "--json", "--max-iterations", "7")
    assert first.code == 0, first.text
    run = first.report["run"]
    before = typed("show", run, "--json").out
    (rawko.folder / "a.txt").unlink()
    rawko.write("mine.txt", "mine\n")
    rawko.write(".rawko/agents/developer.yaml", AGENT.format(era="new"))
    again = typed("run", "--again", run, "--yes", "--json")
    assert (again.code, again.report["files_changed"]) == (0, ["a.txt"]), again.text
    assert again.report["run"] != run
    assert f"since run {run}: files have changed: " in again.err and "mine.txt" in again.err
    assert typed("show", run, "--json").out == before
    shown = json.loads(typed("show", again.report["run"], "--json").out)
    assert shown["task"] == "Make a"
    rows = [json.loads(line) for line in typed("log", again.report["run"], "--json").out.splitlines()]
    assert [row["event"]["data"]["task"] for row in rows if row["event"] and row["event"]["name"] == "START_TASK"] == [
        "Make a"
    ]


def test_from_the_files_of_the_start(rawko: Shell, typed: Typed) -> None:
    """The files alone go back first, with what was there kept."""
    rawko.write("a.txt", "old\n")
    write = says("developer", call("write", file_path="b.txt", content="b\n"))
    scenario = str(rawko.scenario(write, says("developer", call("complete", summary="Done."))))
    first = typed("run", "Make b", "--agent", "developer", "--scenario", scenario, "--yes", "--json")
    run = first.report["run"]
    assert typed("rewind", f"{run}@1", "--files").code == 0
    assert not (rawko.folder / "b.txt").exists()
    again = typed("run", "--again", run, "--yes", "--json")
    assert (again.code, again.report["files_changed"]) == (0, ["b.txt"]), again.text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("Other task",), "so TASK cannot be given"),
        (("--model", "m"), "so --model cannot be given"),
        (("--no-sandbox",), "so --sandbox cannot be given"),
    ],
)
def test_what_would_make_it_another_run_is_refused(typed: Typed, words: tuple[str, ...], told: str) -> None:
    refused = typed("run", *words, "--again", "20260101-000000-abcdef")
    assert (refused.code, told in refused.err) == (2, True), refused.text


def test_a_run_that_is_not_there(typed: Typed) -> None:
    refused = typed("run", "--again", "20260101-000000-abcdef")
    assert (refused.code, "there is no run" in refused.err) == (2, True), refused.text
