"""Budgets as a person sets them: kept before each call, for the whole tree, and resumable with a larger one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.shell import Ended, Shell, call, judges, picks, says

Typed = Callable[..., Ended]
COSTS = {"usage": {"input_tokens": 900, "output_tokens": 100}}
PRICES = "prices:\n  scripted: {input: 100, output: 100}\n"
"""A thousand tokens cost ten cents."""


def steps(*names: str) -> list[dict[str, Any]]:
    """Turns of the developer that write a file each, then the end."""
    turns = [says("developer", call("write", file_path=name, content=name), **COSTS) for name in names]
    return [*turns, says("developer", call("complete", summary="All written."), **COSTS)]


def alone(rawko: Shell, *replies: dict[str, Any]) -> list[str]:
    return ["run", "Write", "--agent", "developer", "--scenario", str(rawko.scenario(*replies)), "--yes", "--json"]


@pytest.mark.parametrize(
    ("limit", "larger", "told"),
    [
        (["--max-tokens", "1500"], ["--max-tokens", "9000"], "2,000 of 1,500 tokens"),
        (["--max-cost", "0.15"], ["--max-cost", "5"], "$0.2000 of $0.15"),
    ],
    ids=["tokens", "cost"],
)
def test_a_run_stops_before_the_call_that_would_go_over_and_goes_on_with_more(
    typed: Typed, rawko: Shell, limit: list[str], larger: list[str], told: str
) -> None:
    rawko.write(".rawko/config.yaml", PRICES)
    stopped = typed(*alone(rawko, *steps("a", "b", "c")), *limit, "--trust")
    assert stopped.code == 3
    assert (stopped.report["outcome"], stopped.report["state"]) == ("limit", "out_of_budget")
    assert told in stopped.report["summary"]
    assert stopped.report["usage"]["calls"] == 2, "the third was not made"
    assert stopped.report["files_changed"] == ["a", "b"], "the work of the turns that were paid for is kept"
    run = stopped.report["run"]
    assert f"rawko resume {run} --max-cost" in stopped.err

    again = typed("resume", run, "--json")
    assert (again.code, again.report["usage"]["calls"]) == (3, 2), "the same budget is still used up"

    done = typed("resume", run, *larger, "--json", "--trust")
    assert (done.code, done.report["outcome"]) == (0, "success")
    assert (done.report["run"], done.report["usage"]["calls"]) == (run, 4)
    assert done.report["files_changed"] == ["a", "b", "c"]


def test_an_answer_that_the_budget_cuts_off_is_asked_for_again_with_a_larger_one(typed: Typed, rawko: Shell) -> None:
    rawko.write(".rawko/config.yaml", PRICES)
    cut = says("developer", text="I was about to", stop_reason="max_tokens", usage={"output_tokens": 500})
    first, *rest = steps("a", "b")
    stopped = typed(*alone(rawko, first, cut, *rest), "--max-cost", "0.15", "--trust")
    assert (stopped.code, stopped.report["state"]) == (3, "out_of_budget"), stopped.text
    assert "$0.1500 of $0.15; the last answer was cut off by that" in stopped.report["summary"]
    done = typed("resume", stopped.report["run"], "--max-cost", "5", "--json", "--trust")
    assert (done.code, done.report["files_changed"], done.report["usage"]["calls"]) == (0, ["a", "b"], 4)
    said = typed("diff", done.report["run"], "1", "last", "--conversation")
    assert "I was about to" not in said.text, "half an answer is none"


def test_the_arbiter_and_its_agents_share_one_budget(typed: Typed, rawko: Shell) -> None:
    scenario = rawko.scenario(
        picks("developer", **COSTS), *steps("a"), judges("COMPLETE", summary="Done.", **COSTS), name="tree.yaml"
    )
    words = ["run", "Write", "--scenario", str(scenario), "--yes", "--json"]
    inside = typed(*words, "--max-tokens", "2000")
    assert (inside.code, inside.report["usage"]["calls"]) == (3, 2), "the arbiter's call and one of the agent's"
    over = typed(*words, "--max-tokens", "3000")
    assert (over.code, over.report["state"]) == (3, "out_of_budget"), "now it is the arbiter that may not be asked"
    assert over.report["usage"]["calls"] == 3
    done = typed("resume", over.report["run"], "--max-tokens", "3001", "--json")
    assert (done.code, done.report["outcome"], done.report["usage"]["calls"]) == (0, "success", 4)
    resumed = typed("resume", inside.report["run"], "--max-tokens", "9000", "--json")
    assert (resumed.code, resumed.report["usage"]["calls"]) == (0, 4)


def test_time_is_bounded_too_and_no_tool_is_begun_after_it(typed: Typed, rawko: Shell) -> None:
    slow = says("developer", call("bash", command="sleep 2.2; echo x > a"), call("write", file_path="b", content="b"))
    scenario = rawko.scenario(slow, says("developer", call("complete", summary="Done.")))
    words = ["run", "Work", "--agent", "developer", "--scenario", str(scenario), "--yes", "--json"]
    stopped = typed(*words, "--max-time", "2s")
    assert (stopped.code, stopped.report["state"]) == (3, "out_of_budget")
    assert "the run has worked" in stopped.report["summary"]
    assert stopped.report["files_changed"] == ["a"], "the second call of the same message was not begun"
    done = typed("resume", stopped.report["run"], "--max-time", "10m", "--json")
    assert (done.code, done.report["files_changed"]) == (0, ["a", "b"])


def test_the_budget_may_stand_in_the_projects_file(typed: Typed, rawko: Shell) -> None:
    rawko.write(".rawko/config.yaml", "budget: {tokens: 1500}\n")
    stopped = typed(*alone(rawko, *steps("a", "b")))
    assert (stopped.code, stopped.report["usage"]["calls"]) == (3, 2)
    more = typed(*alone(rawko, *steps("a", "b")), "--max-tokens", "9000")
    assert more.code == 0, "a flag goes over the file"


def test_a_price_that_is_not_known_is_said_before_the_task_starts(typed: Typed, rawko: Shell) -> None:
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    words = ("run", "Work", "--agent", "developer", "--model", "strange", "--max-cost", "1")
    refused = typed(*words, env=env)
    assert refused.code == 2
    assert "there is no price for strange" in refused.err
    assert "prices:" in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max-cost", "0"), "--max-cost: found 0"),
        (("--max-cost", "nan"), "--max-cost: found nan"),
        (("--max-time", "5"), "--max-time: found '5'"),
        (("--max-time", "soon"), "accepted: a whole number with its unit"),
        (("--max-tokens", "0"), "max-tokens"),
    ],
)
def test_a_bound_that_is_none_is_refused(typed: Typed, rawko: Shell, words: tuple[str, ...], said: str) -> None:
    refused = typed(*alone(rawko, *steps("a")), *words)
    assert refused.code == 2
    assert said in refused.err


def test_the_limit_of_turns_keeps_the_work_and_a_new_run_goes_on(typed: Typed, rawko: Shell) -> None:
    words = alone(rawko, *steps("a", "b", "c"))
    stopped = typed(*words, "--max-iterations", "2")
    assert (stopped.code, stopped.report["state"]) == (3, "limit")
    run = stopped.report["run"]
    assert f"rawko resume {run} (or with --max-iterations N)" in stopped.err
    rawko.scenario(
        {**says("developer", call("complete", summary="Done.")), "expect": {"last_message": "the limit was raised"}}
    )
    done = typed("resume", run, "--max-iterations", "5", "--json")
    assert (done.code, done.report["outcome"]) == (0, "success")
    assert done.report["run"] != run, "a machine that has ended stays as it ended"
    rows = [json.loads(line) for line in typed("log", done.report["run"], "--json").out.splitlines()]
    told = next(row["event"]["data"] for row in rows if row["event"] and row["event"]["name"] == "FOLLOW_UP")
    assert told["run"] == run
    assert len(told["messages"]) > 3
