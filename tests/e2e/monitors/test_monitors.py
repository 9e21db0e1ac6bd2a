"""The monitor of AL-080 in a real run: a machine that somebody broke is stopped, alone and under an arbiter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rawko.chart import shipped_path
from tests.cli.shell import Ended, Shell, call, picks, says

Typed = Callable[..., Ended]
CAREFUL = "- {target: capturing_snapshot, action: record_result}"
CARELESS = "- {target: deciding, action: record_result}"
AGENT = """\
name: developer
when_to_use: always
system_prompt: Work.
chart: my_loop.yaml
"""


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
def test_a_chart_that_forgets_to_capture_is_stopped_with_a_name(typed: Typed, rawko: Shell, alone: bool) -> None:
    chart = (shipped_path("statecharts") / "agent_loop.yaml").read_text(encoding="utf-8")
    assert CAREFUL in chart
    rawko.write("my_loop.yaml", chart.replace(CAREFUL, CARELESS))
    rawko.write(".rawko/agents/developer.yaml", AGENT)
    work = says(
        "developer", call("write", file_path="a.txt", content="a"), call("write", file_path="b.txt", content="b")
    )
    scenario = str(rawko.scenario(*([] if alone else [picks("developer")]), work))
    words = (
        "run",
        "Work",
        *(("--agent", "developer") if alone else ()),
        "--scenario",
        scenario,
        "--yes",
        "--json",
        "--trust",
    )
    ended = typed(*words)
    assert (ended.code, ended.report["outcome"]) == (1, "failure"), ended.text
    assert "stopped by the monitor 'agent_loop_invariants', state 'change_not_captured'" in ended.report["summary"]
    assert ended.report["files_changed"] == ["a.txt"], "the second tool was not begun"
    assert ended.report["usage"]["calls"] == (1 if alone else 2), "nobody is asked whether to go on"
