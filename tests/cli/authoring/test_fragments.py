"""The commands for charts, on a chart with a fragment of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rawko.app.inspection.charts import chart_svg, read_chart
from rawko.app.inspection.simulating import simulate
from rawko.cli.authoring.check_again import _state
from tests.cli.conftest import Typed
from tests.cli.shell import Shell

CHART = """\
statechart:
  name: seeds
  root state:
    name: seeds
    initial: sowing
    states:
      - name: sowing
        use: {with: {time: 5s}, fragment: parts/rest.yaml, exits: {over: grown}}
      - name: grown
        type: final
"""
REST = """\
fragment:
  name: rest
  parameters: {time: delay}
  exits: [over]
  state:
    initial: lying
    states:
      - {name: lying, after: {$time: $over}}
"""


def written(rawko: Shell) -> Path:
    rawko.write("seeds.yaml", CHART)
    rawko.write("parts/rest.yaml", REST)
    return rawko.folder


def test_check_fmt_export_and_diff_read_the_fragment(rawko: Shell, typed: Typed) -> None:
    folder = written(rawko)
    assert typed("check", "seeds.yaml").code == 0
    assert typed("fmt", "seeds.yaml").code == 0
    assert "use: {fragment: parts/rest.yaml, with: {time: 5s}, exits: {over: grown}}" in (
        folder / "seeds.yaml"
    ).read_text(encoding="utf-8")
    assert "sowing.lying" in typed("export", "seeds.yaml", "--to", "xstate").out
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run([*git, *words], cwd=folder, check=True)
    rawko.write("parts/rest.yaml", REST.replace("name: lying", "name: lying, tags: [slow]"))
    done = typed("diff-charts", "HEAD:seeds.yaml", "seeds.yaml")
    assert done.code == 1
    assert "sowing.lying" in done.out and "slow" in done.out


def test_a_defect_in_a_fragment_is_told_with_its_file_and_its_use(rawko: Shell, typed: Typed) -> None:
    written(rawko)
    rawko.write("parts/rest.yaml", REST.replace("after:", "afer:"))
    done = typed("check", "--fix", "seeds.yaml")
    assert done.code == 1
    assert "parts/rest.yaml:8:23: unknown-key: 'afer'" in done.out
    assert "used in seeds.yaml:8:14" in done.out


def test_a_change_of_a_fragment_is_a_change_for_watch(rawko: Shell) -> None:
    folder = written(rawko)
    before = _state([folder / "seeds.yaml"], None)
    assert str(folder / "parts/rest.yaml") in before
    rawko.write("parts/rest.yaml", REST + "# more\n")
    assert _state([folder / "seeds.yaml"], None) != before


def test_the_inspector_shows_the_expanded_chart(rawko: Shell) -> None:
    folder = written(rawko)
    told = read_chart(folder, "seeds.yaml")
    assert told["problems"] == []
    assert told["states"] == {"seeds": 4, "sowing": 7, "grown": 9}
    assert "sowing.lying" in chart_svg(folder, "seeds.yaml")
    assert simulate(folder, "seeds.yaml", [{"clock": 6}])["configuration"] == ["seeds", "grown"]
