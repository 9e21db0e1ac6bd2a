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
MARK = "7734"
SLEEP = f"echo half > a.txt; trap '' TERM; sleep {MARK}; sleep {MARK}"
WORK = says("developer", call("bash", command=SLEEP), call("write", file_path="b.txt", content="b"))
DONE = says("developer", call("complete", summary="Done."))
SLOW = {**DONE, "delay": "120s"}
OVERLOADED = says("developer", error={"code": "rate_limited", "retry_after": "120s"})


def run_of(typed: Typed) -> str:
    [found] = [json.loads(line) for line in typed("runs", "--json").out.splitlines()]
    return str(found["run"])


def conversation(typed: Typed, run: str) -> list[Any]:
    """All messages that the journal of a run holds, from the follow-up's event on."""
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    return next(
        row["event"]["data"]["messages"] for row in rows if row["event"] and row["event"]["name"] == "FOLLOW_UP"
    )


AT_WORK: list[tuple[list[dict[str, Any]], str]] = [
    ([WORK], "▸ bash"),
    ([says("developer", call("read", file_path="x")), SLOW], "▸ read"),
    ([OVERLOADED], "Retrying the turn"),
]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
@pytest.mark.parametrize(("replies", "sign"), AT_WORK, ids=["tool", "thinking", "backing off"])
def test_a_run_at_work_is_cancelled_from_another_process(
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
    assert not rawko.processes_of(MARK), "TERM was ignored, so KILL came"
    if sign == "▸ bash":
        assert cancelled.report["files_changed"] == ["a.txt"], "what the tool left behind is captured"
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    assert next(row["event"]["data"] for row in rows if row["event"] and row["event"]["name"] == "CANCEL") == {
        "who": "ada"
    }
    assert typed("cancel", run).code == 2, "it has ended"


PARKED = {
    "clarify": says("developer", call("clarify", question="?")),
    "approval": says("developer", call("bash", command="make")),
}


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
@pytest.mark.parametrize("kind", PARKED)
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
    """The command that outlived its rawko is killed and not begun again; what it did stays, captured."""
    started = rawko.start("run", "Work", "--agent", "developer", "--scenario", str(rawko.scenario(WORK)), "--yes")
    started.wait_until(lambda: (rawko.folder / "a.txt").exists())
    os.kill(started.process.pid, signal.SIGKILL)
    started.process.wait()
    assert rawko.processes_of(MARK)
    done = typed("cancel", run_of(typed), "--json")
    assert (done.code, done.report["outcome"]) == (0, "cancelled"), done.text
    assert not rawko.processes_of(MARK)
    assert done.report["files_changed"] == ["a.txt"]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
def test_a_cancelled_run_can_be_followed(rawko: Shell, typed: Typed, alone: bool) -> None:
    """Its conversation is valid: the call that was stopped has an answer."""
    scenario = str(rawko.scenario(*([] if alone else [picks("developer")]), WORK))
    words = ("run", "Work", *(("--agent", "developer") if alone else ()))
    started = rawko.start(*words, "--scenario", scenario, "--yes")
    started.wait_until(lambda: (rawko.folder / "a.txt").exists())
    run = run_of(typed)
    assert typed("cancel", run).code == 0
    started.end()
    replies = [{**DONE, "expect": {"last_message": "Finish it"}}]
    if not alone:
        replies = [picks("developer"), *replies, judges("COMPLETE", summary="Done.")]
    later = str(rawko.scenario(*replies, name="later.yaml"))
    done = typed("run", "Finish it", "--continue", run, "--scenario", later, "--yes", "--json")
    assert done.code == 0, done.text
    told = json.dumps(conversation(typed, done.report["run"]))
    assert told.count("Cancelled: the run was stopped before this call was finished.") == 2


def test_a_run_that_is_not_there(typed: Typed) -> None:
    assert "there is no run 'nope'" in typed("cancel", "nope").err
