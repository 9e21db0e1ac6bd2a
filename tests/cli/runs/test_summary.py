"""The end of a run on the screen: what was said first, the verdict and what comes next last."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rawko.app.run.report import Outcome, Report
from rawko.cli.summary import diffstat, print_report
from rawko.vocabulary.usage import Usage


def report(outcome: Outcome = "success", **over: object) -> Report:
    given: dict[str, object] = {
        "run": "r1",
        "state": "complete",
        "outcome": outcome,
        "iterations": 1,
        "usage": Usage(input_tokens=10, calls=1),
        "cost_usd": None,
        "files_changed": (),
        "summary": "Said.",
        **over,
    }
    return Report(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "over", "last"),
    [
        ("success", {}, 'rawko log r1 · rawko run --continue r1 "what comes next"'),
        ("failure", {}, 'rawko log r1 · rawko run --continue r1 "what comes next"'),
        ("limit", {}, "Go on with new limits: rawko resume r1 (or with --max-iterations N)"),
        ("interrupted", {}, "Go on: rawko resume r1"),
        ("needs_person", {"question": {"kind": "clarify", "text": "Which?"}}, "rawko answer r1"),
    ],
)
def test_what_comes_next_is_the_last_line(
    capsys: pytest.CaptureFixture[str], outcome: Outcome, over: dict[str, object], last: str
) -> None:
    print_report(report(outcome, **over), as_json=False)
    lines = capsys.readouterr().out.rstrip().split("\n")
    assert last in lines[-1]
    assert lines[1] == "Said."
    assert lines[-4].startswith(("Task", "Limit", "Interrupted", "A person"))


@pytest.mark.parametrize(("cost", "shown"), [(None, "cost unknown"), (0.0, None), (0.5, "$0.5000")])
def test_money_is_shown_where_it_was_counted(
    capsys: pytest.CaptureFixture[str], cost: float | None, shown: str | None
) -> None:
    print_report(report(cost_usd=cost), as_json=False)
    told = capsys.readouterr().out
    assert "$0.0000" not in told
    assert shown is None or shown in told


def test_a_diffstat_is_that_of_git(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, encoding="utf-8").stdout

    git("init", "-q")
    for name, text in {"a": "1\n2\n3\n", "gone": "x\n", "b c": "--- a/x\n+++ b/y\n", "bin": "\0\n"}.items():
        (tmp_path / name).write_text(text)
    git("add", ".")
    for name, text in {"a": "1\n-- 2\n++ 3\n4", "b c": "+++ b/y\n@@ -1 +1 @@\n", "bin": "\0\0", "new": "n\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "gone").unlink()
    git("add", "-N", ".")
    expected = {}
    for line in git("diff", "--numstat").splitlines():
        added, removed, name = line.split("\t")
        if added != "-":
            expected[name] = (int(added), int(removed))
    assert diffstat(git("diff")) == expected
