"""Who decided about a call is in the journal and in the log, whether a rule, a person, or a policy for nobody there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.shell import Ended, Shell, call, judges, picks, says

Typed = Callable[..., Ended]
WRITE = call("write", file_path="a.txt", content="a")


def run(typed: Typed, rawko: Shell, *words: str, config: str = "") -> Ended:
    if config:
        rawko.write(".rawko/config.yaml", config)
    scenario = rawko.scenario(
        says("developer", WRITE),
        says("developer", call("complete", summary="Done.")),
    )
    return typed(
        "run", "Do it", "--agent", "developer", "--scenario", str(scenario), "--json", "--quiet", "--trust", *words
    )


def test_a_call_that_nobody_can_allow_is_parked_by_default(typed: Typed, rawko: Shell) -> None:
    for words in ((), ("--headless", "park")):
        parked = run(typed, rawko, *words)
        assert (parked.code, parked.report["outcome"]) == (4, "needs_person")
        log = typed("log", parked.report["run"], "--events").out
        assert "[ask by default: write asks]" in log
        assert "[nobody there]" in log
    approved = typed("approve", parked.report["run"], "--json", env={"USER": "ann"})
    assert approved.code == 0, approved.text
    assert rawko.read("a.txt") == "a"
    assert "[ann: once]" in typed("log", parked.report["run"], "--events").out


def test_a_call_that_nobody_can_allow_fails_the_run_where_that_is_asked(typed: Typed, rawko: Shell) -> None:
    failed = run(typed, rawko, "--headless", "fail")
    assert (failed.code, failed.report["outcome"]) == (1, "failure")
    assert not (rawko.folder / "a.txt").exists()


@pytest.mark.parametrize(
    ("answers", "is_written", "who"),
    [
        ("approval: once", True, "[default answer: once]"),
        ("approval: deny", False, "[default answer: deny]"),
        ("clarify: Go on.", False, "[nobody there: deny]"),
    ],
)
def test_a_default_answers_for_nobody_and_is_named(
    typed: Typed, rawko: Shell, answers: str, is_written: bool, who: str
) -> None:
    done = run(typed, rawko, config=f"headless: default\ndefault_answers: {{{answers}}}\n")
    assert (rawko.folder / "a.txt").exists() is is_written
    log = typed("log", done.report["run"], "--events").out
    assert who in log
    assert ("execute_tool" in log) is is_written


def test_a_rule_holds_for_agents_below_the_orchestrator_in_its_states(typed: Typed, rawko: Shell) -> None:
    rawko.write(".rawko/config.yaml", "rules: ['deny write for developer in executing', 'deny write in evaluating']\n")
    scenario = rawko.scenario(
        picks("developer"),
        says("developer", WRITE),
        says(
            "developer", call("complete", summary="Could not."), expect={"last_message": "deny write for developer in"}
        ),
        judges("SELECT_MODE", mode="tester", reason="Another one."),
        says("tester", WRITE),
        says("tester", call("complete", summary="Done.")),
        judges("COMPLETE", summary="Done."),
    )
    done = typed("run", "Do it", "--scenario", str(scenario), "--yes", "--json", "--quiet")
    assert done.code == 0, done.text
    log = typed("log", done.report["run"], "--events").out
    assert "[deny by deny write for developer in executing]" in log
    assert "[allow by --yes]" in log
    assert (rawko.folder / "a.txt").exists()


def test_rules_name_themselves(typed: Typed, rawko: Shell) -> None:
    rule = "deny write(*.txt) for developer in executing_tool"
    done = run(typed, rawko, "--yes", config=f"rules: ['{rule}']\n")
    assert not (rawko.folder / "a.txt").exists()
    assert f"[deny by {rule}]" in typed("log", done.report["run"], "--events").out
    wrong = run(typed, rawko, "--yes", config="rules: ['deny write for develper', 'deny write in thinkin']\n")
    assert wrong.code == 2
    assert "there is no agent 'develper'; did you mean 'developer'?" in wrong.err
