"""What the tests of `rawko explore` share: how it is called, scripted decisions, what it has recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.cli.conftest import Typed
from tests.cli.shell import Ended, Shell

QUICK = ("--quiet-ms", "120")
CAT = ("sh", "-c", "echo on; exec cat")


class Here(Shell):
    """The same command line in this process: starting another forty would take long."""

    def __init__(self, shell: Shell, typed: Typed) -> None:
        self.folder, self.state, self.home = shell.folder, shell.state, shell.home
        self._typed = typed

    def __call__(self, *words: Any, env: Mapping[str, str] | None = None, **others: Any) -> Ended:
        return self._typed(*words, env=env)


def explore(rawko: Shell, *words: str, env: Mapping[str, str] | None = None) -> Ended:
    return rawko("explore", "--json", *QUICK, *words, env=env)


def resume(rawko: Shell, run: str, *words: str, env: Mapping[str, str] | None = None) -> Ended:
    return rawko("explore", "--json", "--resume", run, *words, env=env)


def decide(action: str, **fields: Any) -> dict[str, Any]:
    """A scripted decision of the model."""
    whole = {"text": None, "keys": None, "outcome": None, "reason": "because", "summary": None}
    return {"purpose": "agent:explorer", "decision": {"action": action, **whole, **fields}}


def rules_of(report: Mapping[str, Any]) -> list[str]:
    return [decision["rule"] for decision in report["decisions"]]


def attempts_of(rawko: Shell, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    path = next(rawko.state.glob(f"*/explorations/{report['run']}/attempts.jsonl"))
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
