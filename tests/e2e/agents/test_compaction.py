"""A conversation that grows over the model's window: scripted, and with the real SDK against a server (C-35)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from tests.cli.shell import Ended, Shell, call, says

Typed = Callable[..., Ended]
WORDS = ("run", "Read the logs and say what is wrong", "--agent", "developer", "--yes", "--json")
DONE = says("developer", call("complete", summary="The disk is full."))
FULL = says("developer", error={"code": "context_window", "message": "prompt is too long"})
SUMMARY = {"purpose": "compact", "text": "Log 0 to 2 are harmless; log 3 is open."}


def reads(*names: str) -> list[dict[str, Any]]:
    return [says("developer", call("read", file_path=name)) for name in names]


@pytest.fixture
def logs(rawko: Shell) -> list[str]:
    names = [f"log{number}.txt" for number in range(4)]
    for number, name in enumerate(names):
        rawko.write(name, f"{number} all is well\n" * 300)
    return names


def events_of(typed: Typed, run: str) -> list[tuple[str, dict[str, Any]]]:
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    return [(e["event"], e["data"]) for row in rows for e in row["effects"] if e["type"] == "emit"]


def test_old_results_become_pointers_then_a_summary_stands_for_them(
    typed: Typed, rawko: Shell, logs: list[str]
) -> None:
    expected = {
        "last_message": ["Log 0 to 2 are harmless", "Read the logs and say what is wrong", "Go on from there"],
    }
    scenario = rawko.scenario(*reads(*logs), FULL, FULL, SUMMARY, {**DONE, "expect": expected})
    done = typed(*WORDS, "--scenario", str(scenario))
    assert done.code == 0, done.text
    assert done.report["usage"]["calls"] == 6, "four turns, a summary, and the last turn; a full window costs nothing"
    told = [(name, data["kind"]) for name, data in events_of(typed, done.report["run"]) if "COMPACTED" in name]
    assert told == [("CONVERSATION_COMPACTED", "results"), ("CONVERSATION_COMPACTED", "summary")]
    rows = typed("log", done.report["run"], "--json").out
    assert rows.count("3 all is well") >= 300, "the whole conversation stays in the journal"


def test_a_window_that_is_full_whatever_is_left_out_is_a_limit(typed: Typed, rawko: Shell, logs: list[str]) -> None:
    scenario = rawko.scenario(*reads(*logs), {**FULL, "times": 3}, SUMMARY)
    ended = typed(*WORDS, "--scenario", str(scenario))
    assert (ended.code, ended.report["outcome"], ended.report["state"]) == (3, "limit", "limit")
    assert "no longer fits" in ended.report["summary"]


def test_a_known_window_is_emptied_before_it_overflows(typed: Typed, rawko: Shell, logs: list[str]) -> None:
    rawko.write(".rawko/config.yaml", "context_window: 10000\n")
    turns = [
        {**turn, "usage": {"input_tokens": 2000 * (number + 1), "output_tokens": 700}}
        for number, turn in enumerate(reads(*logs))
    ]
    scenario = rawko.scenario(*turns, {**DONE, "expect": {"last_message": "3 all is well"}})
    done = typed(*WORDS, "--scenario", str(scenario))
    assert done.code == 0, done.text
    told = [data["kind"] for name, data in events_of(typed, done.report["run"]) if "COMPACTED" in name]
    assert told == ["results"], "before the last turn, which still sees the last two results"


def test_an_agent_that_goes_on_after_a_compaction_goes_on_with_what_is_left(
    typed: Typed, rawko: Shell, logs: list[str]
) -> None:
    first = rawko.scenario(*reads(*logs), FULL, FULL, SUMMARY, DONE)
    run = typed(*WORDS, "--scenario", str(first)).report["run"]
    next_scenario = rawko.scenario(
        {**says("developer", call("complete", summary="Said.")), "expect": {"last_message": "Say it again"}},
        name="next.yaml",
    )
    done = typed("run", "Say it again", "--continue", run, "--scenario", str(next_scenario), "--yes", "--json")
    assert done.code == 0, done.text
    rows = [json.loads(line) for line in typed("log", done.report["run"], "--json").out.splitlines()]
    told = next(row["event"]["data"] for row in rows if row["event"] and row["event"]["name"] == "FOLLOW_UP")
    assert "Log 0 to 2 are harmless" in told["messages"][0]["content"][0]["text"]
    assert not any("0 all is well" in json.dumps(message) for message in told["messages"])


def reading(name: str) -> Reply:
    return Reply(tool_calls=(MockCall("read", {"file_path": name}),))


END = Reply(tool_calls=(MockCall("complete", {"summary": "All is well."}),))
WINDOWS: list[tuple[int, list[Reply], list[str]]] = [
    (12_000, [*(reading(f"log{number}.txt") for number in range(6)), END], ["results"]),
    (
        6_000,
        [reading("log0.txt"), reading("log1.txt"), END, Reply(text="Logs 0 and 1 are harmless."), END],
        ["summary"],
    ),
]
"""The reply that a refused request would have got is lost, which is the mock's way."""


@pytest.mark.parametrize(("window", "replies", "steps"), WINDOWS, ids=["pointers", "summary"])
def test_with_the_real_sdk_against_a_server_that_enforces_its_window(
    typed: Typed, rawko: Shell, llmock: Any, window: int, replies: list[Reply], steps: list[str]
) -> None:
    for number in range(6):
        rawko.write(f"log{number}.txt", "all is well\n" * 600)
    llmock.tool_mode("off")
    llmock.limits(context_window=window)
    llmock.add(*replies)
    env = {"ANTHROPIC_BASE_URL": llmock.base_url("anthropic"), "ANTHROPIC_API_KEY": "k"}
    done = typed(*WORDS, env=env)
    assert (done.code, done.report["summary"]) == (0, "All is well."), done.text
    assert [data["kind"] for name, data in events_of(typed, done.report["run"]) if "COMPACTED" in name] == steps
    sizes = [len(json.dumps(request.body)) for request in llmock.requests]
    assert sizes[-1] < max(sizes) * 0.6
    if steps == ["summary"]:
        assert "Logs 0 and 1 are harmless." in json.dumps(llmock.requests[-1].body)
