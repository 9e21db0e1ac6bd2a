"""`rawko compare` and `rawko report --receipt`: what runs have changed, shown and cost."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell, call, judges, picks, says
from tests.e2e.time_travel.recorded_run import Typed

EVIDENCE = 'evidence: [{check: "test -e a.txt", name: tests}]\n'
CLAIMS = says("developer", call("complete", summary="All written."))


def writes(name: str, content: str) -> dict[str, object]:
    return says("developer", call("write", file_path=name, content=content))


def run(rawko: Shell, typed: Typed, *replies: object, agent: str | None = "developer") -> str:
    words = ("run", "Write", "--scenario", str(rawko.scenario(*replies)), "--yes", "--trust", "--json", "--quiet")  # type: ignore[arg-type]
    return str(typed(*words, *(("--agent", agent) if agent else ())).report["run"])


def test_runs_stand_side_by_side(rawko: Shell, typed: Typed) -> None:
    rawko.write(".rawko/config.yaml", EVIDENCE)
    one = run(rawko, typed, writes("a.txt", "one\n"), CLAIMS)
    two = run(rawko, typed, writes("a.txt", "one\ntwo\n"), writes("b.txt", "x\n"), CLAIMS)
    told = typed("compare", one, two)
    assert told.code == 0, told.text
    rows = {line[:24].strip(): line[24:].split() for line in told.out.splitlines()}
    assert rows[""] == [one, two]
    assert rows["outcome"] == ["success", "success"]
    assert (rows["tests"], rows["files"]) == (["holds", "holds"], ["1", "2"])
    assert rows["a.txt"] == ["added", "+1", "−0", "+1", "−0"]
    assert rows["b.txt"] == ["added", "+1", "−0"]
    data = typed("compare", one, two, "--json").report["runs"]
    assert [side["run"] for side in data] == [one, two]
    assert [[change["path"] for change in side["changes"]] for side in data] == [["a.txt"], ["a.txt", "b.txt"]]
    assert all(side["evidence"][0]["held"] for side in data)
    assert data[0]["trees"][1] == data[1]["trees"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [(["last"], "compare needs two runs"), (["last", "last"], "is named twice"), (["last", "20010101"], "20010101")],
)
def test_what_cannot_be_compared_is_refused(rawko: Shell, typed: Typed, words: list[str], told: str) -> None:
    run(rawko, typed, CLAIMS)
    refused = typed("compare", *words)
    assert refused.code == 2 and told in refused.err


def test_a_receipt_says_what_stands_for_the_claim(rawko: Shell, typed: Typed) -> None:
    rawko.write(".rawko/config.yaml", EVIDENCE)
    reviews = says("reviewer", call("complete", summary="No finding."))
    replies = (
        picks("developer"),
        writes("a.txt", "one\n"),
        CLAIMS,
        judges("SELECT_MODE", mode="reviewer", reason="look"),
    )
    asked = (*replies, reviews, judges("COMPLETE", summary="Written and reviewed."))
    made = run(rawko, typed, *asked, agent=None)
    told = typed("report", made, "--receipt")
    assert told.code == 0, told.text
    assert "claim      Written and reviewed." in told.out
    assert "evidence   holds: tests: 'test -e a.txt' passed (tree " in told.out
    assert "review     reviewer: success: No finding." in told.out
    assert "risk       1 file changed; the largest change is a.txt (+1 −0)" in told.out
    data = typed("report", made, "--receipt", "--json").report
    assert (data["outcome"], data["evidence"][0]["held"], len(data["risks"])) == ("success", True, 1)
    assert rawko.read("a.txt") == "one\n"
    assert typed(*data["undo"].split()[1:]).code == 0
    assert not (rawko.folder / "a.txt").exists()


def test_a_receipt_without_evidence_says_so(rawko: Shell, typed: Typed) -> None:
    made = run(rawko, typed, writes("a.txt", "one\n"), CLAIMS)
    told = typed("report", made, "--receipt")
    assert "risk       no evidence was demanded: the claim is the agent's word" in told.out


def test_a_receipt_and_a_page_are_two_things(rawko: Shell, typed: Typed) -> None:
    made = run(rawko, typed, CLAIMS)
    for words in (("report", made), ("report", made, "--receipt", "-o", "../x.html"), ("report", made, "--json")):
        refused = typed(*words)
        assert refused.code == 2 and "--receipt" in refused.err, refused.text
