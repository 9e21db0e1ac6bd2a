"""A run under the arbiter, and what it takes to ask it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Ended, Shell, call, judges, picks, says
from tests.e2e.time_travel.recorded_run import Typed

RUN = (
    picks("developer", usage={"input_tokens": 100, "output_tokens": 10}),
    says("developer", call("write", file_path="a.txt", content="one\n")),
    says("developer", call("complete", summary="Written.")),
    judges("SELECT_MODE", mode="tester", reason="it is written"),
    says("tester", call("complete", summary="Tested.")),
    judges("COMPLETE", summary="All done."),
)
"""Three decisions: developer, tester, COMPLETE."""


class Laboratory:
    """A folder with a run, and `rawko lab` in it."""

    def __init__(self, rawko: Shell, typed: Typed) -> None:
        self.rawko, self.typed = rawko, typed

    def run(self, *replies: Mapping[str, Any], more: tuple[str, ...] = ()) -> str:
        scenario = self.rawko.scenario(*(replies or RUN), name="run.yaml")
        ended = self.typed("run", "Write it", "--scenario", str(scenario), "--yes", "--quiet", "--json", *more)
        return str(ended.report["run"])

    def judge(self, *replies: Mapping[str, Any]) -> Path:
        """A scenario of answers to the questions that are asked again, in their order."""
        return self.rawko.scenario(*replies, name="judge.yaml")

    def __call__(self, *words: str, judge: tuple[Mapping[str, Any], ...] | None = None) -> Ended:
        scenario = () if judge is None else ("--scenario", str(self.judge(*judge)))
        return self.typed("lab", *words, *scenario)

    def found(self, *words: str, judge: tuple[Mapping[str, Any], ...] | None = None) -> dict[str, Any]:
        """What `--json` tells."""
        ended = self(*words, "--json", judge=judge)
        assert ended.code == 0, ended.text
        return ended.report

    def answers(self) -> list[Path]:
        return sorted(self.rawko.state.rglob("arbiter-answers/*/*.json"))


@pytest.fixture
def lab(rawko: Shell, typed: Typed) -> Laboratory:
    return Laboratory(rawko, typed)
