"""The terminal view beside a chart of 5,000 states and a result of 20 MB: it opens, moves, unfolds, answers keys."""

from __future__ import annotations

import pytest

from rawko.chart import shipped_path
from tests.cli.shell import Shell, call, says
from tests.tui.conftest import Typed
from tests.tui.in_tmux.tmux import Tmux

pytestmark = pytest.mark.slow
GROUPS, STATES, BYTES = 50, 99, 20_000_000
AGENT = "name: developer\nwhen_to_use: always\nsystem_prompt: Work.\nchart: large.yaml\n"


def large_chart() -> str:
    """The agent's chart, and groups of states beside its own."""
    groups = []
    for group in range(GROUPS):
        states = ", ".join(f"{{name: s{group}_{number}}}" for number in range(STATES))
        groups.append(f"      - {{name: g{group}, initial: s{group}_0, states: [{states}]}}\n")
    return (shipped_path("statecharts") / "agent_loop.yaml").read_text(encoding="utf-8") + "".join(groups)


@pytest.mark.thorough
def test_a_chart_of_5000_states_and_a_result_of_20_mb(rawko: Shell, tmux: Tmux, typed: Typed) -> None:
    rawko.write("large.yaml", large_chart())
    rawko.write(".rawko/agents/developer.yaml", AGENT)
    floods = says("developer", call("bash", command=f"head -c {BYTES} /dev/zero | tr '\\0' x; echo; echo the end"))
    asks = says("developer", call("clarify", question="Shall I go on?"))
    scenario = rawko.scenario(floods, asks, says("developer", call("complete", summary="Flooded.")))
    words = ("--agent", "developer", "--yes", "--trust", "--scenario", str(scenario))
    tmux.rawko("run", "Flood", "--tui", *words)
    tmux.wait_for("Shall I go on?")
    tmux.press("1")
    tmux.wait_for("● waiting")
    tmux.press("End")
    tmux.wait_for(f"g{GROUPS - 1}")
    tmux.press("Enter")
    tmux.wait_for(f"○ g{GROUPS - 1}")
    tmux.press("End")
    tmux.wait_for(f"s{GROUPS - 1}_{STATES - 1}")
    tmux.press("2")
    tmux.press("Home")
    tmux.press("3")
    tmux.press("End")
    tmux.press("Escape")
    tmux.resize(20, 24)
    tmux.wait_for("Shall I")
    tmux.resize(110, 36)
    tmux.press("a")
    tmux.wait_for("Enter sends")
    tmux.press("y", "Enter")
    tmux.wait_for("success")
    tmux.press("q")
    tmux.wait_for("Flooded.")
