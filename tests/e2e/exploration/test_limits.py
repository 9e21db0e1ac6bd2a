"""Explorations that reached a limit go on with a higher one: from what was kept, at every moment truthfully told."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.e2e.exploration.exploring import CAT, QUICK, Here, attempts_of, decide, explore, resume, rules_of

pytestmark = pytest.mark.thorough

COUNTING = """
policy: counting
launch: {expect: "on"}
rules:
  - {name: end, when: {screen: three}, stop: success, reason: counted}
  - {name: third, when: {screen: two}, type: three, press: enter}
  - {name: second, when: {screen: one}, type: two, press: enter}
  - {name: first, when: {after: ""}, type: one, press: enter}
"""
WAITING = """
policy: p
launch: {silent_ms: 50}
rules: [{name: w, when: {without: go}, wait: true}, {name: e, stop: success}]
stuck_after: 1000
"""
LOUD = ("sh", "-c", "cat go 2>/dev/null; while :; do echo tick; sleep 0.05; done")
"""Never quiet, so that time passes; says `go` where there is a file of that name."""


def folder_of(rawko: Shell, run: str) -> Path:
    return next(rawko.state.glob(f"*/explorations/{run}"))


@pytest.mark.parametrize("driver", ["statechart", "runner"])
def test_attempts_are_raised(here: Here, driver: str) -> None:
    here.write("policy.yaml", COUNTING)
    flags = ("--policy", "policy.yaml", "--max-attempts", "5")
    first = explore(here, *flags, *CAT, env={"AGENT_DRIVER": driver})
    run = first.report["run"]
    assert (first.code, first.report["reason"], first.report["continued"]) == (3, "attempts", []), first.text
    assert f"resume with a higher limit: rawko explore --resume {run} --max-attempts" in first.err

    done = resume(here, run, "--max-attempts", "30")
    report = done.report
    assert (done.code, report["outcome"], report["run"]) == (0, "success", run), done.text
    assert rules_of(report) == ["first", "second", "third", "end"], "nothing is decided twice"
    assert report["continued"] == [{"after": 5, "why": "attempts"}]
    assert "resumed after 5 attempts: limit reached (--max-attempts)" in done.err
    assert [a["state"]["step_ordinal"] for a in attempts_of(here, report)] == list(range(1, report["attempts"] + 1))
    assert report["duration_ms"] > first.report["duration_ms"], "of all of it together"

    again = resume(here, run, "--max-attempts", "99")
    assert (again.code, "has ended (success) and cannot be resumed" in again.err) == (2, True), again.text


def test_a_limit_may_be_reached_again_and_raised_again(here: Here) -> None:
    here.write("policy.yaml", COUNTING)
    run = explore(here, "--policy", "policy.yaml", "--max-attempts", "2", *CAT).report["run"]
    for limit in ("3", "4", "7"):
        again = resume(here, run, "--max-attempts", limit)
        assert (again.code, again.report["attempts"]) == (3, int(limit)), again.text
    done = resume(here, run, "--max-attempts", "50", "-o", "page.html")
    assert done.code == 0, done.text
    assert [one["after"] for one in done.report["continued"]] == [2, 3, 4, 7]
    assert rules_of(done.report) == ["first", "second", "third", "end"]
    assert "after 7 attempts: limit reached (--max-attempts)" in here.read("page.html")


@pytest.mark.parametrize("words", [(), ("--max-attempts", "5"), ("--max-attempts", "4"), ("--max-tokens", "9")])
def test_a_limit_that_is_not_raised_is_named(here: Here, words: tuple[str, ...]) -> None:
    here.write("policy.yaml", COUNTING)
    first = explore(here, "--policy", "policy.yaml", "--max-attempts", "5", *CAT)
    run = first.report["run"]
    before = {path.name: path.read_bytes() for path in folder_of(here, run).iterdir() if path.is_file()}
    again = resume(here, run, *words)
    assert again.code == 2, again.text
    bound = words[1] if words[:1] == ("--max-attempts",) else "5"
    told = f"rawko: exploration '{run}' has reached a limit: 5 of {bound} attempts are made; resume it with"
    assert again.err.startswith(told)
    assert again.err.endswith(f"such as: rawko explore --resume {run} --max-attempts 10\n")
    after = {path.name: path.read_bytes() for path in folder_of(here, run).iterdir() if path.is_file()}
    assert after == before, "it is left as it was"


def test_tokens_are_raised_and_the_script_goes_on_where_it_was(here: Here) -> None:
    usage = {"usage": {"input_tokens": 60, "output_tokens": 0}}
    words = [{**decide("keys", text=word, keys=["enter"]), **usage} for word in ("a", "b", "c")]
    scenario = here.scenario(*words, {**decide("stop", outcome="success", summary="abc"), **usage})
    run = explore(here, "--scenario", str(scenario), "--max-tokens", "100", *CAT).report["run"]
    refused = resume(here, run)
    assert (refused.code, "120 of 100 tokens are used" in refused.err) == (2, True), refused.text
    done = resume(here, run, "--max-tokens", "1000")
    assert (done.code, done.report["summary"]) == (0, "abc"), done.text
    assert [d["gist"] for d in done.report["decisions"]][:3] == [f"type '{word}', press enter" for word in "abc"]
    assert (done.report["usage"]["calls"], done.report["usage"]["input_tokens"]) == (4, 240)
    assert done.report["continued"][0]["why"] == "tokens"


def test_the_cost_is_bounded_and_raised(here: Here) -> None:
    here.write(".rawko/config.yaml", "prices:\n  scripted: {input: 100, output: 100}\n")
    costs = {"usage": {"input_tokens": 900, "output_tokens": 100}}  # ten cents
    words = [{**decide("keys", text=word), **costs} for word in ("a", "b", "c")]
    scenario = here.scenario(*words, {**decide("stop", outcome="success"), **costs})
    first = explore(here, "--scenario", str(scenario), "--max-cost", "0.15", "--trust", *CAT)
    report = first.report
    assert (first.code, report["outcome"], report["reason"]) == (3, "limit", "cost"), first.text
    assert report["cost_usd"] == pytest.approx(0.2)
    assert report["summary"] == "the cost limit was reached (--max-cost)"
    refused = resume(here, report["run"], "--max-cost", "0.2")
    assert (refused.code, "it has cost $0.2000 of $0.2;" in refused.err) == (2, True), refused.text
    done = resume(here, report["run"], "--max-cost", "1")
    assert (done.code, done.report["cost_usd"]) == (0, pytest.approx(0.4)), done.text
    assert done.report["continued"][0]["why"] == "cost"


def test_a_cost_that_cannot_be_known_is_refused_beforehand(here: Here) -> None:
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    done = here("explore", "--model", "strange", "--max-cost", "1", "cat", env=env)
    assert (done.code, "there is no price for strange" in done.err) == (2, True), done.text
    assert not list(here.state.glob("*/explorations/*"))


def test_the_projects_budget_bounds_explorations_too(here: Here) -> None:
    here.write(".rawko/config.yaml", "budget: {tokens: 50}\n")
    usage = {"usage": {"input_tokens": 60, "output_tokens": 0}}
    scenario = here.scenario(*[{**decide("keys", text=word), **usage} for word in "abc"])
    done = explore(here, "--scenario", str(scenario), *CAT)
    assert (done.code, done.report["reason"], done.report["usage"]["calls"]) == (3, "tokens", 1), done.text


def test_time_is_raised_and_only_time_at_work_counts(here: Here) -> None:
    here.write("policy.yaml", WAITING)
    flags = ("--policy", "policy.yaml", "--cap", "150", "--timeout", "1s")
    run = explore(here, *flags, *LOUD).report["run"]
    report = json.loads((folder_of(here, run) / "report.json").read_text())
    assert (report["reason"], report["outcome"]) == ("wall_time", "limit")
    refused = resume(here, run)
    assert (refused.code, " s of 1 s; resume it" in refused.err) == (2, True), refused.text
    here.write("go", "go")
    lines = [json.loads(line) for line in (folder_of(here, run) / "attempts.jsonl").read_text().splitlines()]
    for line in lines:  # as if it had been begun a day ago: what it has slept since is no time at work
        line["at_ms"] -= 86_400_000
        line["state"]["started_at_ms"] -= 86_400_000
    (folder_of(here, run) / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = resume(here, run, "--timeout", "1m")
    assert (done.code, done.report["outcome"]) == (0, "success"), done.text
    assert 1_000 < done.report["duration_ms"] < 60_000
    assert done.report["continued"][0]["why"] == "wall_time"


def test_an_exploration_that_was_cancelled_goes_on(here: Here) -> None:
    here.write("policy.yaml", WAITING)
    started = here.start("explore", "--policy", "policy.yaml", "--quiet-ms", "50", "--cap", "60", "--json", *LOUD)
    started.wait_for("wait (rule w)")
    started.process.send_signal(signal.SIGINT)
    run = started.end().report["run"]
    here.write("go", "go")
    done = resume(here, run)
    assert (done.code, done.report["continued"][0]["why"]) == (0, "cancelled"), done.text


def test_an_exploration_whose_model_failed_goes_on_once_it_can_be_asked(here: Here) -> None:
    typed = decide("keys", text="x", keys=["enter"])
    refused = {"purpose": "agent:explorer", "error": {"code": "billing", "message": "no credit"}}
    scenario = here.scenario(typed, refused, refused, decide("stop", outcome="success", summary="seen"))
    first = explore(here, "--scenario", str(scenario), *CAT)
    run = first.report["run"]
    assert (first.code, first.report["summary"]) == (1, "no credit"), first.text
    assert f"rawko explore --resume {run}" in here("show", run).out
    assert resume(here, run).report["summary"] == "no credit", "still"
    done = resume(here, run)
    assert (done.code, done.report["outcome"], done.report["summary"]) == (0, "success", "seen"), done.text
    assert [one["why"] for one in done.report["continued"]] == ["billing", "billing"]
    assert [decision["gist"] for decision in done.report["decisions"]] == ["type 'x', press enter", "stop: success"]


@pytest.mark.parametrize(
    "words",
    [
        ("--policy", "policy.yaml"),
        ("--goal", "x"),
        ("--provider", "scripted"),
        ("--scenario", "fizzbuzz"),
        ("--model", "m"),
        ("--size", "80x24"),
        ("--quiet-ms", "5"),
        ("--cap", "5"),
    ],
)
def test_what_an_exploration_keeps_cannot_be_changed(here: Here, words: tuple[str, ...]) -> None:
    done = resume(here, "any", *words)
    assert done.code == 2
    assert done.err.startswith(f"rawko: {words[0]}: an exploration goes on as it was started; accepted with --resume:")


# ---------------------------------------------------------------- killed


def test_killed_after_it_was_gone_on_with_it_is_open_again(here: Here) -> None:
    """The report of the limit does not hold any more, from the moment on that it is gone on with."""
    here.write("policy.yaml", WAITING)
    flags = ("--policy", "policy.yaml", "--quiet-ms", "50", "--cap", "60", "--max-attempts", "4")
    run = here("explore", "--json", *flags, *LOUD).report["run"]
    going = here.start("explore", "--resume", run, "--max-attempts", "1000")
    going.wait_for("launched")
    os.killpg(going.process.pid, signal.SIGKILL)
    going.process.wait()
    folder = folder_of(here, run)
    assert json.loads((folder / "report.json").read_text())["outcome"] == "limit", "of before"
    here.write("go", "go")
    done = resume(here, run)
    assert (done.code, done.report["outcome"]) == (0, "success"), "with the limit that was raised: " + done.text
    assert [one["why"] for one in done.report["continued"]] == ["attempts", "interrupted"]
    steps = [attempt["state"]["step_ordinal"] for attempt in attempts_of(here, done.report)]
    assert sorted(set(steps)) == list(range(1, done.report["attempts"] + 1)), "no attempt is lost"


def test_whoever_has_lost_its_lease_does_not_write_how_it_ended(rawko: Shell) -> None:
    """Another worker has it: what became of it is his to say."""
    rawko.write("policy.yaml", WAITING)
    started = rawko.start("explore", "--policy", "policy.yaml", "--quiet-ms", "50", "--cap", "60", "--json", *LOUD)
    started.wait_for("wait (rule w)")
    run = started.text().split()[1]
    os.kill(started.process.pid, signal.SIGSTOP)
    take_the_lease(rawko, run)
    os.kill(started.process.pid, signal.SIGCONT)
    ended = started.end(60)
    assert (ended.code, ended.report["reason"]) == (1, "lease_lost"), ended.text
    assert not (folder_of(rawko, run) / "report.json").exists()


def take_the_lease(rawko: Shell, run: str) -> None:
    """As a worker of another machine does, once the lease has run out."""
    import asyncio

    from rawko.journal import SqlJournal
    from rawko.machines.node_engine.leases import JournalLeases

    async def take() -> None:
        journal = SqlJournal(next(rawko.state.glob("*/journal.db")))
        try:
            await JournalLeases(journal).acquire(run, "elsewhere", 2**45)
        finally:
            await journal.aclose()

    asyncio.run(take())


def test_records_of_before_there_were_limits_to_raise_are_read(here: Here) -> None:
    here.write("policy.yaml", COUNTING)
    run = explore(here, "--policy", "policy.yaml", "--max-attempts", "5", *CAT).report["run"]
    folder = folder_of(here, run)
    without(folder / "plan.json", "continued", "began_at_ms", "max_cost_usd")
    without(folder / "report.json", "continued")
    lines = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
    (folder / "attempts.jsonl").write_text(
        "".join(json.dumps({k: v for k, v in line.items() if k != "at_ms"}) + "\n" for line in lines)
    )
    done = resume(here, run, "--max-attempts", "30")
    assert done.code == 0, done.text


def without(path: Path, *keys: str) -> None:
    data: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in data.items() if key not in keys}))


def test_an_exploration_keeps_to_the_rate_of_model_calls(here: Here) -> None:
    """The second call of a minute waits, and the log says so; an interrupt ends the wait."""
    here.write(".rawko/config.yaml", "rate: {calls_per_minute: 1}\n")
    typed = decide("keys", text="x", keys=["enter"])
    scenario = here.scenario(typed, typed, decide("stop", outcome="success", summary="seen"))
    started = here.start("explore", "--json", *QUICK, "--scenario", str(scenario), *CAT)

    def waits() -> bool:
        logs = here.state.glob("*/explorations/*/*.jsonl")
        return any("the rate limit is 1 model calls a minute" in log.read_text("utf-8") for log in logs)

    started.wait_until(waits, 60)
    started.process.send_signal(signal.SIGINT)
    report = started.end().report
    assert report["reason"] == "cancelled"
    assert report["usage"]["calls"] == 1
