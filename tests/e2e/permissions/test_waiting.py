"""Runs that wait for a person: parked, killed, answered elsewhere, in several turns; and what happens with nobody."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.shell import Ended, Shell, call, judges, picks, says
from tests.cli.terminal import Terminal

Typed = Callable[..., Ended]
ASK = says("developer", call("clarify", question="Tabs or spaces?"))
MORE = says("developer", call("clarify", question="How many?"), expect={"last_message": "spaces"})
STUCK = says("developer", call("pause", reason="I am stuck."))
WRITE = says("developer", call("write", file_path="a.txt", content="four spaces"), expect={"last_message": "four"})
DONE = says("developer", call("complete", summary="Indented."))
ALONE = ("run", "Indent", "--agent", "developer", "--json")


def answers_of(typed: Typed, run: str) -> list[tuple[str, str, str]]:
    """(kind, answer, who) of every question that the journal says was answered."""
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    told = [
        e["data"] for row in rows for e in row["effects"] if e["type"] == "emit" and e["event"] == "QUESTION_ANSWERED"
    ]
    return [(data["kind"], data["answer"], data["who"]) for data in told]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
def test_several_turns_of_question_and_answer_each_from_a_process_of_its_own(
    typed: Typed, rawko: Shell, alone: bool
) -> None:
    replies = [ASK, MORE, STUCK, {**WRITE, "expect": {"last_message": "go on"}}, DONE]
    if not alone:
        replies = [picks("developer"), *replies, judges("COMPLETE", summary="Indented.")]
    scenario = str(rawko.scenario(*replies))
    words = ALONE if alone else ("run", "Indent", "--json")
    asked = typed(*words, "--scenario", scenario, "--yes")
    assert (asked.code, asked.report["outcome"]) == (4, "needs_person")
    run = asked.report["run"]
    assert f"rawko answer {run}" in asked.err
    for answer, next_question in (("spaces", "How many?"), ("four", "I am stuck.")):
        asked = typed("answer", run, answer, "--json", env={"USER": "ada"})
        assert (asked.code, asked.report["question"]["text"]) == (4, next_question)
    done = typed("answer", run, "go on", "--json", env={"USER": "grace"})
    assert (done.code, done.report["outcome"], done.report["files_changed"]) == (0, "success", ["a.txt"])
    assert answers_of(typed, run) == [
        ("clarify", "spaces", "ada"),
        ("clarify", "four", "ada"),
        ("pause", "go on", "grace"),
    ]


def test_a_run_that_is_killed_at_its_question_is_answered_all_the_same(rawko: Shell, typed: Typed) -> None:
    """kill -9 while a terminal shows the question: nothing says that it asked but the journal."""
    scenario = str(rawko.scenario(ASK, {**DONE, "expect": {"last_message": "spaces"}}))
    with Terminal(rawko, "run", "Indent", "--agent", "developer", "--scenario", scenario) as terminal:
        terminal.wait_for("Your answer >")
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()
    [found] = [json.loads(line) for line in typed("runs", "--json").out.splitlines()]
    assert found["outcome"] == "interrupted"
    done = typed("answer", found["run"], "spaces", "--json", env={"USER": "ada"})
    assert (done.code, done.report["outcome"]) == (0, "success"), done.text
    assert answers_of(typed, found["run"]) == [("clarify", "spaces", "ada")]


def test_a_question_on_a_terminal_can_be_answered_from_another(rawko: Shell, typed: Typed) -> None:
    scenario = str(rawko.scenario(ASK, {**DONE, "expect": {"last_message": "spaces"}}))
    with Terminal(rawko, "run", "Indent", "--agent", "developer", "--scenario", scenario) as terminal:
        terminal.wait_for("Your answer >")
        [found] = [json.loads(line) for line in typed("runs", "--json").out.splitlines()]
        told = typed("answer", found["run"], "spaces", env={"USER": "grace"})
        assert (told.code, "told the process" in told.out) == (0, True), told.text
        terminal.wait_for("Task completed")
        assert terminal.process.wait(180) == 0
    assert answers_of(typed, found["run"]) == [("clarify", "spaces", "grace")]


WRONG: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    (ASK, ("approve",), "waits for something else: Tabs or spaces?"),
    (ASK, ("deny",), "rawko answer"),
    (says("developer", call("bash", command="make")), ("answer", "yes"), "rawko approve"),
]


@pytest.mark.parametrize(("reply", "words", "said"), WRONG, ids=["approve", "deny", "answer"])
def test_an_answer_of_the_wrong_kind_is_refused_and_the_question_stays_open(
    typed: Typed, rawko: Shell, reply: dict[str, Any], words: tuple[str, ...], said: str
) -> None:
    """A yes to a tool call is not given in passing, and "once" is no answer to a question."""
    run = typed(*ALONE, "--scenario", str(rawko.scenario(reply, DONE))).report["run"]
    refused = typed(words[0], run, *words[1:])
    assert refused.code == 2
    assert said in refused.err
    assert typed("resume", run, "--json").code == 4


def test_a_run_that_asks_nothing_takes_no_answer(typed: Typed, rawko: Shell) -> None:
    run = typed(*ALONE, "--scenario", str(rawko.scenario(DONE))).report["run"]
    assert "it asks nothing" in typed("answer", run, "yes").err


# ---------------------------------------------------------------- nobody is there

PLAIN = [(ASK, "clarify"), (STUCK, "pause")]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
@pytest.mark.parametrize(("reply", "kind"), PLAIN, ids=["clarify", "pause"])
def test_headless_fail_ends_the_run_at_once(
    typed: Typed, rawko: Shell, reply: dict[str, Any], kind: str, alone: bool
) -> None:
    replies = [reply] if alone else [picks("developer"), reply]
    words = ALONE if alone else ("run", "Indent", "--json")
    failed = typed(*words, "--scenario", str(rawko.scenario(*replies)), "--headless", "fail")
    assert (failed.code, failed.report["outcome"], failed.report["error"]["code"]) == (1, "failure", "unattended")
    assert "Nobody is there to answer" in failed.report["summary"]


def test_headless_default_answers_what_is_configured_and_says_so(typed: Typed, rawko: Shell) -> None:
    rawko.write(
        ".rawko/config.yaml",
        "headless: default\ndefault_answers: {clarify: 'Decide yourself, four spaces.', approval: deny}\n",
    )
    scenario = rawko.scenario(ASK, {**WRITE, "expect": {"last_message": "Decide yourself"}}, DONE)
    done = typed(*ALONE, "--scenario", str(scenario))
    assert done.code == 0, done.text
    assert done.report["files_changed"] == [], "the call was denied by default"
    assert answers_of(typed, done.report["run"]) == [
        ("clarify", "Decide yourself, four spaces.", "default answer"),
        ("approval", "deny", "default answer"),
    ]


def test_what_has_no_default_answer_is_parked_never_made_up(typed: Typed, rawko: Shell) -> None:
    rawko.write(".rawko/config.yaml", "default_answers: {approval: deny}\n")
    scenario = rawko.scenario(ASK, {**DONE, "expect": {"last_message": "spaces"}})
    parked = typed(*ALONE, "--scenario", str(scenario), "--headless", "default")
    assert (parked.code, parked.report["outcome"]) == (4, "needs_person")
    assert typed("answer", parked.report["run"], "spaces", "--json").code == 0


def test_after_the_one_answer_the_policy_counts_again(typed: Typed, rawko: Shell) -> None:
    """What had no default answer was parked; what has one is answered by it."""
    rawko.write(".rawko/config.yaml", "headless: default\ndefault_answers: {clarify: four}\n")
    scenario = rawko.scenario(STUCK, ASK, {**DONE, "expect": {"last_message": "four"}})
    run = typed(*ALONE, "--scenario", str(scenario)).report["run"]
    done = typed("answer", run, "go on", "--json", env={"USER": "ada"})
    assert done.code == 0, done.text
    assert answers_of(typed, run) == [("pause", "go on", "ada"), ("clarify", "four", "default answer")]


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--headless", "default"), "needs answers"), (("--headless", "pray"), "accepted: 'fail', 'park', 'default'")],
)
def test_a_policy_that_cannot_be_kept_is_refused(typed: Typed, rawko: Shell, words: tuple[str, ...], said: str) -> None:
    refused = typed(*ALONE, "--scenario", str(rawko.scenario(DONE)), *words)
    assert refused.code == 2
    assert said in refused.err
