"""`rawko debate`, as it is typed: rounds, the verdict, killed, cancelled, refused; agents of one's own."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Typed
from tests.cli.shell import Shell, call, says

DEBATE = ("debate", "Should it be generated?", "--json", "--yes")


def argues(side: str, words: str, **more: Any) -> dict[str, Any]:
    return {**says(side, call("complete", summary=words)), **more}


def prefers(letter: str, **more: Any) -> dict[str, Any]:
    reasons = [{"candidate": one, "reason": f"Reason {one}."} for one in ("A", "B")]
    return {"purpose": "judge", "decision": {"best": letter, "reasons": reasons}, **more}


FIRST = [argues("proponent", "It is shorter."), argues("opponent", "It is slower.")]
SECOND = [
    argues("proponent", "Not here.", expect={"last_message": ["It is slower.", "It is shorter.", "round 2 of 2"]}),
    argues("opponent", "Here, too.", expect={"last_message": ["It is shorter.", "round 2 of 2"]}),
]
SEEN = {"last_message": ["It is shorter.", "Not here.", "It is slower.", "Here, too.", "Should it be generated?"]}
VERDICT = [prefers("A", expect=SEEN), prefers("B", expect=SEEN)]


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_two_sides_argue_and_a_judge_decides(rawko: Shell, typed: Typed) -> None:
    subprocess.run(["git", "init", "-q"], cwd=rawko.folder, check=True)
    rawko.write("grammar.txt", "a rule")
    before = all_files(rawko.folder)
    looks = says("proponent", call("read", file_path="grammar.txt"))
    done = typed(*DEBATE, "--scenario", str(rawko.scenario(looks, *FIRST, *SECOND, *VERDICT)))
    report = done.report
    assert (report["outcome"], report["iterations"], report["files_changed"]) == ("success", 2, []), done.text
    judged = report["judged"]
    assert (judged["rule"], judged["votes"]) == ("agreed", [judged["winner"]] * 2)
    assert report["summary"].startswith(f"{judged['winner']} has argued better")
    assert report["notes"] == [] and all_files(rawko.folder) == before
    log = typed("log").out
    assert "proponent is done" in log and "opponent is done" in log and f"the judge: {judged['winner']}" in log, log
    assert typed("replay", "last").code == 0


@pytest.mark.thorough
def test_killed_in_the_second_round_and_between_two_questions_it_comes_to_the_same_verdict(rawko: Shell) -> None:
    """Each kill comes while a reply is waited for; what had been said before is not said again."""
    late = {"delay": "1h"}
    path = rawko.scenario(*FIRST, SECOND[0], {**SECOND[1], **late}, *VERDICT)
    started = rawko.start(*DEBATE, "--scenario", str(path))
    started.wait_until(lambda: rawko("log").out.count("proponent is done") == 2, timeout_s=120)
    started.process.kill()
    started.process.wait()
    again = [*FIRST, *SECOND, SECOND[1]]  # the reply that was waited for may count as given
    rawko.scenario(*again, VERDICT[0], {**VERDICT[1], **late})
    resumed = rawko.start("resume", "last", "--json", "--yes")
    resumed.wait_until(lambda: "Reason" in rawko("log", "--json").out, timeout_s=120)
    resumed.process.kill()
    resumed.process.wait()
    rawko.scenario(*again, *VERDICT)
    done = rawko("resume", "last", "--json", "--yes")
    assert (done.report["outcome"], done.report["judged"]["rule"]) == ("success", "agreed"), done.text
    assert done.report["iterations"] == 2
    assert rawko("replay", "last").code == 0


def test_cancel_stops_both_sides(rawko: Shell) -> None:
    waits = argues("proponent", "Later.", delay="1h")
    started = rawko.start(*DEBATE, "--scenario", str(rawko.scenario(waits, FIRST[1])))
    started.wait_until(lambda: "opponent is done" in rawko("log").out, timeout_s=120)
    rawko("cancel", "last")
    assert started.end().report["outcome"] == "cancelled"


def test_agents_and_positions_of_ones_own(rawko: Shell, typed: Typed) -> None:
    agents = rawko.folder / ".rawko" / "agents"
    agents.mkdir(parents=True)
    for name in ("ann", "bob"):
        (agents / f"{name}.yaml").write_text(f"name: {name}\nwhen_to_use: w\nsystem_prompt: s\n", encoding="utf-8")
    said = [
        argues("ann", "No server.", expect={"last_message": ["SQLite", "round 1 of 1"]}),
        argues("bob", "Many writers.", expect={"last_message": "PostgreSQL"}),
        prefers("A", expect={"last_message": ["Position: SQLite", "Speed"]}),
        prefers("B"),
    ]
    words = (
        "--sides",
        "ann,bob",
        "--positions",
        "SQLite, PostgreSQL",
        "--rounds",
        "1",
        "--criteria",
        "Speed",
        "--trust",
    )
    done = typed(*DEBATE, *words, "--scenario", str(rawko.scenario(*said)))
    assert done.report["judged"]["winner"] in ("ann", "bob"), done.text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--sides", "proponent,oponent"), "'sides' names 'oponent', which is no agent; did you mean 'opponent'?"),
        (("--sides", "proponent"), "a debate has two sides"),
        (("--sides", "proponent,proponent"), "'proponent' is on both"),
        (("--positions", "a,b,c"), "a debate has two sides"),
        (("--rounds", "0"), "rounds"),
    ],
)
def test_what_cannot_be_is_told_before_anything_starts(
    rawko: Shell, typed: Typed, words: tuple[str, ...], problem: str
) -> None:
    done = typed(*DEBATE, *words, "--scenario", str(rawko.scenario()))
    assert done.code == 2 and problem in " ".join(done.text.split()), done.text
    assert "no runs" in typed("runs").text
