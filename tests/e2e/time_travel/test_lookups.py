"""Agents and people look up what a run did: the files between two moments, and the whole of texts shown cut."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.cli.shell import Ended, Shell, call, judges, picks, says

Typed = Callable[..., Ended]
LONG = "The report begins. " + "It goes on. " * 300 + "The report ends."


def test_an_agent_opens_what_another_reported_and_what_it_changed(rawko: Shell, typed: Typed) -> None:
    """S6-102, AL-103: the hand-over says where the whole is; the tools give it."""
    replies = [
        picks("developer"),
        says("developer", call("write", file_path="a.txt", content="a\n")),
        says("developer", call("complete", summary=LONG)),
        {**judges("SELECT_MODE", mode="reviewer", reason="look"), "expect": {"last_message": "has the id iteration-1"}},
        says(
            "reviewer",
            call("changes", **{"from": "iteration 1", "to": "iteration 1"}),
            call("output", id="iteration-1"),
            expect={"last_message": "the whole has the id iteration-1"},
        ),
        says("reviewer", call("complete", summary="Seen."), expect={"last_message": "The report ends."}),
        judges("COMPLETE", summary="All done."),
    ]  # fmt: skip
    done = typed("run", "Work", "--scenario", str(rawko.scenario(*replies)), "--yes", "--json")
    assert (done.code, done.report["notes"]) == (0, []), done.text
    run = done.report["run"]
    rows = [json.loads(line) for line in typed("log", run, "--json").out.splitlines()]
    results = [
        row["event"]["data"]["output"]
        for row in rows
        if row["event"] and row["event"]["name"] == "done.invoke.execute_tool"
    ]
    assert results[1]["content"].endswith("A a.txt  +1 -0")
    assert results[1]["is_read_only"]
    whole = typed("show", run, "--output", "iteration-1")
    assert (whole.code, whole.out) == (0, LONG + "\n")
    told = json.loads(typed("show", run, "--output", "iteration-1", "--json").out)
    assert told == {"id": "iteration-1", "text": LONG}
    early = typed("show", f"{run}@2", "--output", "iteration-1")
    assert (early.code, "there is no text with the id 'iteration-1'" in early.err) == (2, True), early.text


def test_the_arbiter_sees_what_the_last_run_changed_in_the_files(rawko: Shell, typed: Typed) -> None:
    """AL-103, C-48: from the trees; what the agent says changes nothing. A run that changes no file has no list."""
    rawko.write("old.txt", "1\n2\n3\n")
    rawko.write("gone.txt", "x\n")
    changed = ["Files changed:", "- added a.txt (+1 -0)", "- deleted gone.txt (+0 -1)", "- modified old.txt (+1 -2)"]
    change = "printf 'a\\n' > a.txt; rm gone.txt; printf '1\\n4\\n' > old.txt"
    replies = [
        picks("developer"),
        says("developer", call("bash", command=change)),
        says("developer", call("complete", summary="I have deleted all.")),
        {
            **judges("SELECT_MODE", mode="reviewer", reason="look"),
            "expect": {"last_message": "".join(f"    {line}\n" for line in changed)},
        },
        says("reviewer", call("complete", summary="Seen.")),
        {**judges("COMPLETE", summary="All done."), "expect": {"last_message": "in all\n\n<output-"}},
    ]
    done = typed("run", "Work", "--scenario", str(rawko.scenario(*replies)), "--yes", "--json")
    assert (done.code, done.report["notes"]) == (0, []), done.text


def test_a_person_opens_the_result_of_a_tool(rawko: Shell, typed: Typed) -> None:
    rawko.write("long.txt", "".join(f"line {number}\n" for number in range(500)))
    replies = [
        says("developer", call("read", file_path="long.txt")),
        says("developer", call("complete", summary="Read.")),
    ]
    done = typed("run", "Work", "--agent", "developer", "--scenario", str(rawko.scenario(*replies)), "--json")
    run = done.report["run"]
    unknown = typed("show", run, "--output", "nothing")
    assert unknown.code == 2
    ids = [word.strip("',") for word in unknown.err.split("accepted:")[1].split()]
    assert "line 499" in typed("show", run, "--output", ids[0]).out
