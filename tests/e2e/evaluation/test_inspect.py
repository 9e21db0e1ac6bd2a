"""Tasks of `rawko eval` under Inspect itself, in a process of its own, as its user writes it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.shell import Shell, call
from tests.e2e.evaluation.test_eval import OUT, attempt, task, writes

PROGRAM = """\
import json, sys
from inspect_ai import eval, task
from rawko.app.evaluation.inspect_ai import rawko_task

@task
def mine():
    return rawko_task("tasks", scenario=sys.argv[1], assume_yes=True, trust=True)

[log] = eval(mine(), model="none", display="none", epochs=2, log_dir=sys.argv[2], log_format="json")
print(json.dumps({
    "status": log.status,
    "error": None if log.error is None else log.error.message,
    "accuracy": log.results.scores[0].metrics["accuracy"].value if log.results else None,
    "samples": [
        [one.id, one.epoch, one.scores["rawko_checks"].value, one.scores["rawko_checks"].explanation]
        for one in log.samples
    ],
}))
"""


@pytest.mark.thorough
def test_inspect_makes_the_attempts_scores_them_and_keeps_its_log(rawko: Shell) -> None:
    task(rawko, "good")
    task(rawko, "bad", OUT.replace("Write", "Please write"))
    program = rawko.write("../evaluate.py", PROGRAM)
    replies = [*writes("good-1"), attempt("bad-1", call("complete", summary="Done."))]
    done = subprocess.run(
        [sys.executable, str(program), str(rawko.scenario(*replies)), str(rawko.folder.parent / "logs")],
        cwd=rawko.folder,
        env=rawko.environ(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["status"], found["accuracy"]) == ("success", 0.5), found
    assert {(name, epoch, value) for name, epoch, value, _ in found["samples"]} == {
        ("good", 1, "C"),
        ("good", 2, "C"),
        ("bad", 1, "I"),
        ("bad", 2, "I"),
    }
    assert any("'grep -q x out.txt' failed with exit code" in told for *_, told in found["samples"])
    assert len(list((rawko.folder.parent / "logs").glob("*.json"))) == 1
    runs = [line.split()[0] for line in rawko("runs").out.splitlines()[1:]]
    assert len([run for run in runs if run.endswith("__good-1")]) == 2, "each attempt is a run of rawko"
