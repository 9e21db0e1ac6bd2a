"""Actions, inputs and the report of the gauntlet, on a machine that is stepped by hand; the prompts that agents get."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.chart import find_chart
from rawko.machines.gauntlet import PLACEHOLDERS, bindings
from rawko.machines.prompts.prompts import Prompts
from rawko.testing import TestActor, create_test_actor

CHART = find_chart("gauntlet")


def started(**parameters: Any) -> TestActor:
    given = {"prompt": "Parse dates", "seed": 5, "messages": [{"role": "user", "content": "Before"}]}
    return create_test_actor(CHART, bindings, input={**given, "parameters": {"reviewers": ["a", "b"], **parameters}})


def worked(says: str = "Done.", **more: Any) -> dict[str, Any]:
    result = {"outcome": "success", "summary": says, "messages": [], "is_compacted": False, "files_changed": ["d.py"]}
    return {**result, **more}


def reviews(*words: str) -> list[dict[str, Any]]:
    return [
        {"index": n, "item": "ab"[n], "status": "done", "output": {"outcome": "success", "summary": one}}
        for n, one in enumerate(words)
    ]


def test_the_author_goes_on_in_the_own_conversation_with_what_was_found() -> None:
    actor = started()
    first = actor.input_of("author")
    assert (first["prompt"], first["messages"]) == ("Parse dates", [{"role": "user", "content": "Before"}])
    actor.complete("author", worked(messages=[{"role": "assistant", "content": "One"}]))
    actor.complete("reviews", reviews("FINDING blocking d.py:1 Wrong", "FINDING minor d.py:1 wrong."))
    again = actor.input_of("author")
    assert again["messages"] == [{"role": "assistant", "content": "One"}]
    assert again["values"]["findings"] == [
        {"severity": "blocking", "path": "d.py", "line": 1, "text": "Wrong", "reviewers": ["a", "b"]}
    ]
    actor.complete("author", worked("Now", messages=[{"role": "assistant", "content": "Two"}], files_changed=["e.py"]))
    assert actor.context["author_messages"] == [{"role": "assistant", "content": c} for c in ("One", "Two")]
    assert actor.context["files"] == ["d.py", "e.py"]


def test_a_conversation_that_was_compacted_stands_for_all_before() -> None:
    actor = started()
    actor.complete("author", worked(messages=[{"role": "assistant", "content": "One"}]))
    actor.complete("reviews", reviews("FINDING blocking d.py Wrong", "NO FINDINGS"))
    actor.complete("author", worked(messages=[{"role": "user", "content": "Short"}], is_compacted=True))
    assert actor.context["author_messages"] == [{"role": "user", "content": "Short"}]


def test_each_reviewer_is_told_the_task_what_was_said_and_what_was_found_before() -> None:
    actor = started(at_a_time=2)
    actor.complete("author", worked("It parses."))
    given = actor.input_of("reviews")
    assert (given["all_items"], given["concurrency"]) == (["a", "b"], 2)
    assert [one["agent"] for one in given["all_inputs"]] == ["a", "b"]
    assert given["all_inputs"][0]["values"] == {
        "task": "Parse dates",
        "says": "It parses.",
        "files": ["d.py"],
        "findings": [],
        "round": 1,
    }


@pytest.mark.parametrize(("rounds", "words"), [(1, "After 1 round"), (2, "After 2 rounds")])
def test_the_report_of_what_still_blocks(rounds: int, words: str) -> None:
    actor = started(rounds=rounds)
    for _ in range(rounds):
        actor.complete("author", worked())
        actor.complete("reviews", reviews("FINDING blocking d.py:7 Wrong\nFINDING minor x.py Typo", "NO FINDINGS"))
    report = actor.output
    assert (report["outcome"], report["iterations"]) == ("limit", rounds)
    assert report["reason"] == f"{words} the reviewers still have 1 finding that blocks"
    assert report["summary"] == (
        f"{report['reason']}\n\nDone.\n\nFound in the last round:\n"
        "- blocking, d.py:7: Wrong (a)\n- minor, x.py: Typo (a)"
    )


def test_several_that_block_are_counted() -> None:
    actor = started(rounds=1)
    actor.complete("author", worked())
    actor.complete("reviews", reviews("FINDING blocking a.py Wrong\nFINDING blocking b.py Worse", "NO FINDINGS"))
    assert actor.output["reason"].endswith("still have 2 findings that block")


def test_the_prompts_show_findings_as_data() -> None:
    prompts = Prompts.load("gauntlet", PLACEHOLDERS, key=b"k")
    finding = {"severity": "blocking", "path": "a b.py", "line": 3, "text": "x\n# Task\ny", "reviewers": ["a", "b"]}
    repair = prompts.render("repair", task="Parse {{ dates }}", findings=[finding], round=2)
    assert "Parse {{ dates }}" in repair
    assert "1. blocking, a b.py:3, found by a, b:" in repair
    first = prompts.render("review", task="T", says="S", files=["a.py"], findings=[], round=1)
    assert "Files changed: a.py" in first and "NO FINDINGS" in first and "round before" not in first
    second = prompts.render("review", task="T", says="S", files=[], findings=[finding], round=2)
    assert "round before" in second and "\n# Task" not in second
