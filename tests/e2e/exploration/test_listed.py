"""Explorations among the runs of a folder: listed, shown on a page, attempt by attempt, whatever became of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rawko.app.time_travel.prune import prune
from rawko.config import ConfigError, Flags, load_settings
from tests.cli.shell import Ended, Shell
from tests.e2e.exploration.exploring import CAT, Here, attempts_of, explore, resume

pytestmark = pytest.mark.thorough

ECHO = """
policy: echo
launch: {expect: "on"}
rules:
  - {name: end, when: {screen: hello}, stop: success, reason: It echoes}
  - {name: say, when: {after: ""}, type: hello, press: enter}
"""
PATIENT = ("--quiet-ms", "800")
"""Where screens and attempts are counted: an echo that is late on a busy machine is no screen of its own."""
KEY = {"ANTHROPIC_API_KEY": "k"}
WAITING = "policy: p\nlaunch: {silent_ms: 50}\nrules: [{name: w, wait: true}]\nstuck_after: 1000"


def listed(rawko: Shell) -> list[dict[str, Any]]:
    done = rawko("runs", "--json")
    assert done.code == 0, done.text
    return [json.loads(line) for line in done.out.splitlines()]


def explored(here: Here, *words: str) -> Ended:
    here.write("policy.yaml", ECHO)
    return explore(here, "--policy", "policy.yaml", *words, *CAT)


def test_runs_and_explorations_are_listed_as_they_began(here: Here) -> None:
    first = explored(here).report["run"]
    task = ("run", "Write fizzbuzz", "--provider", "scripted", "--scenario", "fizzbuzz", "--yes", "--json")
    second = here(*task).report["run"]
    third = explored(here, "--max-attempts", "4").report["run"]
    found = listed(here)
    assert [(one["run"], one["kind"], one["outcome"]) for one in found] == [
        (first, "exploration", "success"),
        (second, "run", "success"),
        (third, "exploration", "limit"),
    ]
    assert (found[0]["command"], found[0]["workspace"], found[0]["process"]) == (list(CAT), str(here.folder), None)
    assert (found[0]["state"], found[2]["state"], found[2]["attempts"]) == ("finished", "stopped", 4)
    assert 0 < found[0]["began_at_ms"] <= found[0]["latest_at_ms"] < found[2]["began_at_ms"]
    lines = here("runs").out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [third, second, first]
    assert lines[2].split()[:2] == [first, "success"]
    assert "explore sh -c echo on; exec cat  (8 attempts, finished; 20" in lines[2]
    assert lines[0].split()[:3] == [third, "limit", "explore"]
    assert "(4 attempts, stopped; 20" in lines[0]


def test_one_that_is_at_work_and_one_that_was_killed(here: Here) -> None:
    here.write("policy.yaml", WAITING)
    started = here.start("explore", "--policy", "policy.yaml", "--quiet-ms", "50", "--cap", "60", "sleep", "86395")
    started.wait_for("wait (rule w)")
    run = started.text().split()[1]
    (one,) = listed(here)
    assert (one["outcome"], one["process"]) == ("running", started.process.pid)
    assert one["state"] in ("wait_idle", "switch_policy")
    assert f"at work in process {started.process.pid}" in here("show", run).out
    os.killpg(started.process.pid, signal.SIGKILL)
    started.process.wait()
    (one,) = listed(here)
    assert (one["outcome"], one["process"]) == ("interrupted", None)
    shown = here("show", run).out
    assert "outcome   interrupted" in shown
    assert shown.endswith(f"resume: rawko explore --resume {run}\n")
    assert "attempts, in " in here("runs").out
    limited = resume(here, run, "--max-attempts", "1")
    assert (limited.code, limited.report["reason"]) == (3, "attempts")
    (one,) = listed(here)
    assert (one["outcome"], one["state"]) == ("limit", "stopped")


def test_a_page_of_one(here: Here) -> None:
    """What is counted is compared with the attempts: how often the screen is looked at depends on the machine."""
    report = explored(here, *PATIENT, "--timeout", "1m").report
    attempts = attempts_of(here, report)
    events = [event for attempt in attempts for event in attempt["events"]]
    screens = sum(event["type"] == "SCREEN" for event in events)
    decisions = sum(event["type"] == "DECIDED" for event in events)
    assert (len(attempts), screens, decisions) >= (8, 2, 2)
    done = here("show", report["run"])
    assert done.code == 0, done.text
    for line in (
        f"exploration {report['run']}",
        "command   sh -c echo on; exec cat",
        "rules     2 of policy 'echo'",
        "outcome   success",
        "stands in finished",
        "summary   It echoes",
        f"recorded  {len(attempts)} attempts, {screens} screens",
        f"did       {decisions} decisions, 1 launches, 0 of them after dead ends",
        "limits    1,000 attempts, 60 s",
        "  | hello",
    ):
        assert line in done.out.splitlines()
    assert "--resume" not in done.out
    told = json.loads(here("show", report["run"], "--json").out)
    assert told["report"] == report
    assert (told["kind"], told["launches"]) == ("exploration", 1)
    assert (told["decisions"], told["screens"]) == (decisions, screens)
    assert told["limits"] == {"attempts": 1000, "tokens": None, "wall_ms": 60_000, "cost_usd": None}


def test_the_log_has_a_line_for_each_attempt(here: Here) -> None:
    report = explored(here, *PATIENT).report
    run = report["run"]
    lines = here("log", run).out.splitlines()
    assert [line.split()[0] for line in lines] == [str(n) for n in range(1, 9)]
    assert [line.split()[2] for line in lines] == [attempt["node"] for attempt in attempts_of(here, report)]
    assert "type 'hello', press enter (rule say)" in lines[3]
    assert here("log", run, "--last", "2").out.splitlines() == lines[-2:]
    told = [json.loads(line) for line in here("log", run, "--json").out.splitlines()]
    assert [one["step"] for one in told] == list(range(1, 9))
    assert told[3]["events"][-1]["rule"] == "say"
    assert told[3]["state"] == attempts_of(here, report)[3]["state"]


def test_one_attempt(here: Here) -> None:
    run = explored(here, *PATIENT).report["run"]
    told = here("show", f"{run}@2").out.splitlines()
    assert told[0] == "attempt 2: perceive"
    assert "outcome   success" in told
    assert "  | on" in told
    assert json.loads(here("show", f"{run}@4", "--json").out)["node"] == "switch_policy"
    assert here("show", f"{run}@last").out.startswith("attempt 8: stop")


@pytest.mark.parametrize("place", ["0", "9", "x", "-1", "deadbeef", "1e3", "²"])
def test_an_attempt_that_there_is_not(here: Here, place: str) -> None:
    run = explored(here, "--max-attempts", "1").report["run"]
    done = here("show", f"{run}@{place}")
    assert (done.code, done.out) == (2, "")
    assert f"exploration '{run}' has no attempt '{place}'; its attempts are 1 to 1" in done.err


@pytest.mark.parametrize(
    "words",
    [["resume"], ["diff", "1", "2"], ["rewind@1"], ["fork@1"], ["branch@1", "b"], ["replay"], ["pin@1"]],
    ids=lambda words: words[0],
)
def test_what_is_for_runs_alone_says_what_is_for_explorations(here: Here, words: list[str]) -> None:
    run = explored(here, "--max-attempts", "1").report["run"]
    command, at, place = words[0].partition("@")
    done = here(command, f"{run}{at}{place}", *words[1:])
    assert done.code == 2, done.text
    assert f"run '{run}' is an exploration: `rawko show {run}` and `rawko log {run}` tell what happened" in done.err


def test_a_damaged_one_hides_no_other(here: Here) -> None:
    bad, good = (explored(here, "--max-attempts", "1").report["run"] for _ in range(2))
    path = next(here.state.glob(f"*/explorations/{bad}/attempts.jsonl"))
    path.write_text("{\n")
    assert [one["run"] for one in listed(here)] == [good]
    done = here("show", bad)
    assert (done.code, "attempts.jsonl" in done.err, "damaged" in done.err) == (2, True, True), done.text


def test_one_of_a_command_that_would_draw_on_the_terminal(here: Here) -> None:
    here.write("policy.yaml", ECHO)
    run = explore(
        here, "--policy", "policy.yaml", "--max-attempts", "1", "sh", "-c", "echo on\n# \x1b[31m" + "x" * 99
    ).report["run"]
    for words in (("runs",), ("show", run), ("log", run)):
        assert "\x1b" not in here(*words).out
    _, line = here("runs").out.splitlines()
    assert "…  (1 attempt, stopped; " in line


def test_old_explorations_are_pruned_with_the_runs(here: Here) -> None:
    old, limited, kept = (explored(here, *more).report["run"] for more in ((), ("--max-attempts", "3"), ()))
    resume(here, limited, "--max-attempts", "5")
    state = next(here.state.glob("*/journal.db")).parent
    assert journaled(state) == {old, f"{old}.lease", limited, f"{limited}.lease", f"{limited}.2", kept, f"{kept}.lease"}
    done = here("runs", "prune", "--outcome", "success", "--outcome", "limit", "--keep", "1", "--dry-run")
    assert {line.split()[0] for line in done.out.splitlines()[:-1]} == {old, kept}, "the latest stays"
    done = here("runs", "prune", "--outcome", "success", "--yes", "--json")
    assert (done.code, set(done.report["runs"])) == (0, {old, kept}), done.text
    assert [one["run"] for one in listed(here)] == [limited]
    assert journaled(state) == {limited, f"{limited}.lease", f"{limited}.2"}
    assert not [*state.rglob(f"*{old}*"), *state.rglob(f"*{kept}*")]
    assert resume(here, limited, "--max-attempts", "99").code == 0
    assert here("runs", "prune", "--keep", "0", "--yes").code == 0
    assert (listed(here), journaled(state)) == ([], set())


def journaled(state: Path) -> set[str]:
    with closing(sqlite3.connect(state / "journal.db")) as connection:
        return {str(run) for (run,) in connection.execute("SELECT run FROM steps UNION SELECT run FROM runs")}


def test_an_exploration_at_work_is_not_pruned(here: Here) -> None:
    """Also where it is taken up between the list and the removal: whoever is at work holds it."""
    here.write("policy.yaml", WAITING)
    flags = ("--policy", "policy.yaml", "--quiet-ms", "50", "--cap", "60")
    run = here("explore", "--json", *flags, "--max-attempts", "1", "sleep", "86394").report["run"]
    started = here.start("explore", "--resume", run, "--max-attempts", "9999")
    started.wait_for("launched")
    try:
        done = here("runs", "prune", "--keep", "0", "--yes", "--json")
        assert (done.code, done.out) == (0, '{"would_remove": [], "kept": []}\n'), done.text
        state = next(here.state.glob("*/journal.db")).parent
        with pytest.raises(ConfigError, match=f"nothing was pruned: exploration '{run}' is in use by process"):
            asyncio.run(prune(load_settings(here.folder, Flags(), here.environ(KEY)), [run]))
        assert (state / "explorations" / run / "plan.json").is_file()
    finally:
        started.process.send_signal(signal.SIGINT)
        started.end()


def test_one_at_work_is_cancelled_from_outside(here: Here) -> None:
    here.write("policy.yaml", WAITING)
    started = here.start("explore", "--json", "--policy", "policy.yaml", "--cap", "3600000", "sleep", "86393")
    started.wait_for("wait (rule w)")
    run = started.text().split()[1]
    done = here("cancel", run)
    assert (done.code, done.out) == (0, f"exploration {run}: cancelled\n"), done.text
    ended = started.end()
    assert (ended.code, ended.report["outcome"]) == (130, "cancelled")
    assert not here.processes_of("sleep 86393")
    again = here("cancel", run)
    assert (again.code, f"exploration '{run}' has ended already (cancelled)" in again.err) == (2, True)
    assert next(here.state.glob(f"*/explorations/{run}/cancel")).is_file()
    limited = resume(here, run, "--max-attempts", "1")
    assert limited.report["outcome"] == "limit", "what was told to the last process is not for the next"


def test_one_that_was_killed_is_cancelled_with_what_runs_on(here: Here) -> None:
    here.write("policy.yaml", WAITING)
    script = "trap '' HUP; echo on; while :; do sleep 86392; done"
    started = here.start("explore", "--policy", "policy.yaml", "--quiet-ms", "50", "sh", "-c", script)
    started.wait_for("wait (rule w)")
    run = started.text().split()[1]
    os.killpg(started.process.pid, signal.SIGKILL)
    started.process.wait()
    assert here.processes_of("sleep 86392")
    done = here("cancel", run, "--json")
    assert (done.code, done.report["outcome"], done.report["run"]) == (0, "cancelled", run), done.text
    assert done.report["attempts"] >= 3
    assert not here.processes_of("sleep 86392")
    assert [one["outcome"] for one in listed(here)] == ["cancelled"]
