"""Fragments of a project's charts: read through the confined reader, covered by the trust in the chart."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.chart import ChartError, parse_chart
from rawko.trust.confined import ProjectFiles
from rawko.trust.fragments import fragment_files
from tests.cli.conftest import Typed
from tests.cli.shell import Shell
from tests.trust.test_hostile import AGENT, BAD_INPUT, DONE

CHART = """\
statechart:
  name: own
  root state:
    name: own
    initial: a
    states:
      - {name: a, use: {fragment: parts/ask.yaml, exits: {yes: b}}}
      - {name: b, type: final}
"""
ASK = """\
fragment:
  name: ask
  exits: [yes]
  state:
    transitions: [{event: APPROVE, target: $yes, action: approve_call}]
"""


def test_a_fragment_that_approves_by_itself_needs_the_trust_that_its_chart_needs(typed: Typed, rawko: Shell) -> None:
    rawko.write("own.yaml", CHART)
    rawko.write("parts/ask.yaml", ASK)
    rawko.write(".rawko/agents/developer.yaml", f"{AGENT}chart: own.yaml\n")
    done = typed("run", "Work", "--agent", "developer", "--scenario", str(rawko.scenario(DONE)))
    assert done.code == BAD_INPUT
    assert "own.yaml: the chart 'own' can approve tool calls by itself" in done.err


def test_a_fragment_is_a_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "ask.yaml").write_text(ASK, encoding="utf-8")
    root = tmp_path / "project"
    (root / "charts/parts").mkdir(parents=True)
    fragments = fragment_files(ProjectFiles(root), "charts/own.yaml")
    with pytest.raises(ChartError, match=r"there is no file 'charts/parts/ask\.yaml' in the project"):
        parse_chart(CHART, fragments=fragments)
    (root / "charts/parts/ask.yaml").symlink_to(tmp_path / "ask.yaml")
    fragments = fragment_files(ProjectFiles(root), "charts/own.yaml")
    with pytest.raises(ChartError, match=r"unknown-fragment: cannot read the fragment 'parts/ask\.yaml'"):
        parse_chart(CHART, fragments=fragments)
    (root / "charts/parts/ask.yaml").unlink()
    (root / "charts/parts/ask.yaml").write_text(ASK, encoding="utf-8")
    found = parse_chart(CHART, fragments=fragment_files(ProjectFiles(root), "charts/own.yaml"))
    assert found["a"].transitions[0].targets == ("b",)
