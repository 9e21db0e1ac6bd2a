"""Runs for the inspector's tests: one that ended, one that waits for a yes, one with hostile texts."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.cli.shell import Shell, call, judges, picks, says

TASK = "Write fizzbuzz with a test"
PROGRAM = "def fizzbuzz(n: int) -> str:\n    if n % 3 == 0:\n        return 'Fizz'\n    return str(n)\n"
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202egnp.exe\u200b\x1b[31m'


def replies(*, text: str = "I start with the program.", name: str = "fizzbuzz.py", content: str = PROGRAM) -> list[Any]:
    usage = {"usage": {"input_tokens": 1200, "output_tokens": 80}}
    return [
        picks("developer"),
        says("developer", call("write", file_path=name, content=content), text=text, **usage),
        says("developer", call("bash", command="python3 -c 'raise SystemExit(3)'"), text="Now I run it.", **usage),
        says("developer", call("edit", file_path=name, old_string="", new_string="# checked\n"), **usage),
        says("developer", call("complete", summary="Written."), **usage),
        judges("COMPLETE", summary="All of it is there."),
    ]


def ended_run(shell: Shell, **texts: str) -> str:
    """A run that has ended; its id."""
    return _run(shell, "--yes", **texts)


def waiting_run(shell: Shell, **texts: str) -> str:
    """A run that asks whether a file may be written; its id."""
    return _run(shell, **texts)


def planned_run(shell: Shell) -> str:
    """A run with a plan of two steps, of which the first is done; its id."""
    plan = call("update_plan", steps=[{"description": "Write it"}, {"description": "Test <b>it</b>"}])
    done = call("update_plan", step_updates=[{"index": 1, "status": "complete", "agent_used": "developer"}])
    replies = [picks("developer"), says("developer", plan)]
    replies += [says("developer", call("write", file_path=f"plan{n}.py", content="x = 1\n" * n)) for n in (1, 2, 3)]
    replies += [says("developer", done), says("developer", call("complete", summary="Written."))]
    replies += [judges("COMPLETE", summary="Half of it is there.")]
    path = shell.scenario(*replies, name="planned.yaml")
    return str(shell("run", "Plan it", "--scenario", str(path), "--json", "--quiet", "--yes").report["run"])


LOOKS = ("git status --short", "git status -b")
LOOKING_RULE = "allow bash(git status *)"


def looking_run(shell: Shell, *commands: str) -> str:
    """A run that asks whether it may carry out commands, which only look at the state of git; its id."""
    subprocess.run(["git", "init", "-q", str(shell.folder)], check=True)
    replies = [picks("developer"), *(says("developer", call("bash", command=command)) for command in commands or LOOKS)]
    replies += [says("developer", call("complete", summary="Looked.")), judges("COMPLETE", summary="Looked.")]
    ended = shell("run", "Look", "--scenario", str(shell.scenario(*replies, name="looks.yaml")), "--json", "--quiet")
    return str(ended.report["run"])


def _run(shell: Shell, *words: str, task: str = TASK, **texts: str) -> str:
    scenario = shell.scenario(*replies(**texts), name=f"scenario-{len(words)}-{abs(hash(str(texts)))}.yaml")
    ended = shell("run", task, "--scenario", str(scenario), "--json", "--quiet", *words)
    found: str = json.loads(ended.out.splitlines()[-1])["run"]
    return found
