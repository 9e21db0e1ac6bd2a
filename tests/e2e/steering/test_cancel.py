"""`rawko cancel`, wherever a run stands; and what can be done with it afterwards."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.shell import Ended, Shell, call, judges, picks, says

Typed = Callable[..., Ended]
MARK = str(7_000_000 + os.getpid())
"""How long the tool sleeps: a number that no other process has in its command line."""
SLEEP = f"echo half > a.txt; sleep {MARK}; sleep {MARK}"
WORK = says("developer", call("bash", command=SLEEP), call("write", file_path="b.txt", content="b"))
DEAF = says("developer", call("bash", command=f"trap '' TERM; {SLEEP}"))
DONE = says("developer", call("complete", summary="Done."))
SLOW = {**DONE, "delay": "1h"}
OVERLOADED = says("developer", error={"code": "rate_limited", "retry_after": "1h"})


def run_of(typed: Typed) -> str:
    [found] = [json.loads(line) for line in typed("runs", "--json").out.splitlines()]
    return str(found["run"])


def conversation(typed: Typed, run: str) -> list[Any]:
    """All messages that the journal of a run holds, from the follow-up's event on."""
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    return next(
        row["event"]["data"]["messages"] for row in rows if row["event"] and row["event"]["name"] == "FOLLOW_UP"
    )


AT_WORK: list[tuple[bool, list[dict[str, Any]], str]] = [
    (True, [DEAF], "▸ bash"),
    (False, [WORK], "▸ bash"),
    (True, [says("developer", call("read", file_path="x")), SLOW], "▸ read"),
    (False, [OVERLOADED], "Retrying the turn"),
]


@pytest.mark.parametrize(("alone", "replies", "sign"), AT_WORK, ids=["deaf tool", "tool", "thinking", "backing off"])
def test_a_run_at_work_is_cancelled_from_another_process_and_can_be_followed(
    rawko: Shell, typed: Typed, replies: list[dict[str, Any]], sign: str, alone: bool
) -> None:
    scenario = str(rawko.scenario(*([] if alone else [picks("developer")]), *replies))
    started = rawko.start("run", "Work", *(("--agent", "developer") if alone else ()), "--scenario", scenario, "--yes")
    started.wait_for(sign)
    if sign == "▸ bash":
        started.wait_until(lambda: (rawko.folder / "a.txt").exists())
    run = run_of(typed)
    cancelled = typed("cancel", run, "--json", env={"USER": "ada"})
    assert (cancelled.code, cancelled.report["outcome"]) == (0, "cancelled"), cancelled.text
    assert started.end().code == 130
    rawko.wait_gone(MARK)  # TERM, and KILL where that was ignored
    if sign == "▸ bash":
        assert cancelled.report["files_changed"] == ["a.txt"], "what the tool left behind is captured"
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    assert next(row["event"]["data"] for row in rows if row["event"] and row["event"]["name"] == "CANCEL") == {
        "who": "ada"
    }
    assert typed("cancel", run).code == 2, "it has ended"

    replies = [{**DONE, "expect": {"last_message": "Finish it"}}]
    if not alone:
        replies = [picks("developer"), *replies, judges("COMPLETE", summary="Done.")]
    later = str(rawko.scenario(*replies, name="later.yaml"))
    done = typed("run", "Finish it", "--continue", run, "--scenario", later, "--yes", "--json")
    assert done.code == 0, done.text
    told = json.dumps(conversation(typed, done.report["run"]))
    assert told.count("Cancelled: the run was stopped before this call was finished.") == (sign == "▸ bash") * (
        2 - alone
    )


PARKED = {
    "clarify": says("developer", call("clarify", question="?")),
    "approval": says("developer", call("bash", command="make")),
}


@pytest.mark.parametrize(("kind", "alone"), [("clarify", True), ("approval", False)])
def test_a_run_that_waits_is_cancelled_without_a_model_or_a_key(
    rawko: Shell, typed: Typed, kind: str, alone: bool
) -> None:
    scenario = str(rawko.scenario(*([] if alone else [picks("developer")]), PARKED[kind]))
    words = ("run", "Work", *(("--agent", "developer") if alone else ()), "--scenario", scenario, "--json")
    run = typed(*words).report["run"]
    (rawko.folder.parent / "scenario.yaml").unlink()
    done = typed("cancel", run, "--json")
    assert (done.code, done.report["outcome"], done.report["state"]) == (0, "cancelled", "cancelled"), done.text
    assert [json.loads(line)["outcome"] for line in typed("runs", "--json").out.splitlines()] == ["cancelled"]


def test_a_killed_run_is_cancelled_and_its_tool_is_ended(rawko: Shell, typed: Typed) -> None:
    """A command ends with its rawko and is not begun again; what it did stays, captured."""
    started = rawko.start("run", "Work", "--agent", "developer", "--scenario", str(rawko.scenario(WORK)), "--yes")
    started.wait_until(lambda: (rawko.folder / "a.txt").exists())
    started.wait_until(lambda: bool(rawko.processes_of(MARK)))  # the file is there before the sleep is
    os.kill(started.process.pid, signal.SIGKILL)
    started.process.wait()
    done = typed("cancel", run_of(typed), "--json")
    assert (done.code, done.report["outcome"]) == (0, "cancelled"), done.text
    rawko.wait_gone(MARK)
    assert done.report["files_changed"] == ["a.txt"]


def test_a_run_that_is_not_there(typed: Typed) -> None:
    assert "there is no run 'nope'" in typed("cancel", "nope").err
