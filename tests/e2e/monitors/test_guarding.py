"""`monitors:` in the settings: real runs whose calls are refused, which are stopped, or of which it is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Typed
from tests.cli.shell import Ended, Shell, call, judges, picks, says

DONE = says("developer", call("complete", summary="Done."))
WRITES = says("developer", call("write", file_path="there.txt", content="new"))
READS = says("developer", call("read", file_path="there.txt"))
ASKS = says("developer", call("clarify", question="Which name?"))
NEVER_BASH = """\
statechart:
  name: never_bash
  root state:
    name: never_bash
    initial: watching
    states:
      - name: watching
        transitions: [{event: state entered, guard: GUARD, target: ran}]
      - {name: ran, type: final, description: No commands here}
"""


@pytest.fixture
def run(rawko: Shell, typed: Typed) -> Any:
    """Runs the developer by a script, under monitors."""
    rawko.write("there.txt", "old")

    def start(monitors: Any, *replies: Any, words: tuple[str, ...] = ("--yes",), env: Any = None) -> Ended:
        rawko.write(".rawko/config.yaml", json.dumps({"monitors": monitors}))
        scenario = str(rawko.scenario(*replies))
        return typed("run", "Work", "--agent", "developer", "--scenario", scenario, "--json", *words, env=env)

    return start


def test_a_call_is_refused_and_the_model_reads_why(rawko: Shell, typed: Typed, run: Any) -> None:
    ended = run(["no_write_before_read"], WRITES, READS, WRITES, DONE)
    assert (ended.code, ended.report["outcome"]) == (0, "success"), ended.text
    assert rawko.read("there.txt") == "new", "the second time it had been read"
    log = typed("log", ended.report["run"], "--all").out
    reason = "The file is there and was not read; read it before it is changed"
    assert f"✗ write there.txt  refused by monitor no_write_before_read: {reason}" in log
    assert typed("replay", ended.report["run"]).code == 0, "the journal holds what the machine took"
    verified = typed("verify", ended.report["run"], "--monitor", "no_write_before_read")
    assert verified.code == 0, "no write before a read was begun"


@pytest.mark.parametrize("violation", ["stop", "report"])
def test_a_run_is_stopped_or_goes_on_and_says_so(rawko: Shell, run: Any, violation: str) -> None:
    ended = run([{"monitor": "no_write_before_read", "violation": violation}], WRITES, DONE)
    if violation == "stop":
        assert (ended.code, ended.report["outcome"]) == (1, "failure")
        assert "the monitor 'no_write_before_read', state 'wrote_blindly'" in ended.report["summary"]
        assert rawko.read("there.txt") == "old"
    else:
        assert (ended.code, ended.report["outcome"]) == (0, "success")
        assert rawko.read("there.txt") == "new"


def test_an_approved_call_is_refused_all_the_same(rawko: Shell, typed: Typed, run: Any) -> None:
    asked = run(["no_write_before_read"], WRITES, DONE, words=())
    assert asked.code == 4, asked.text
    ended = typed("approve", asked.report["run"], "--json")
    assert (ended.code, ended.report["outcome"]) == (0, "success"), ended.text
    assert rawko.read("there.txt") == "old"
    assert "monitor no_write_before_read: The file" in typed("log", asked.report["run"], "--all").out


def test_what_was_seen_before_a_resume_is_remembered(rawko: Shell, typed: Typed, run: Any) -> None:
    asked = run(["no_write_before_read"], READS, ASKS, WRITES, DONE)
    assert asked.code == 4, asked.text
    ended = typed("answer", asked.report["run"], "there.txt", "--json")
    assert (ended.code, ended.report["outcome"]) == (0, "success"), ended.text
    assert rawko.read("there.txt") == "new", "it was read before the question"


def test_an_own_chart_watches_without_trust_and_its_python_needs_it(rawko: Shell, run: Any) -> None:
    bash = says("developer", call("bash", command="touch made"))
    rawko.write("rules/never_bash.yaml", NEVER_BASH.replace("GUARD", "calls(tool='bash')"))
    assert run(["rules/never_bash.yaml"], bash, READS, DONE).report["outcome"] == "success"
    assert not (rawko.folder / "made").exists()
    rawko.write("rules/never_bash.yaml", NEVER_BASH.replace("GUARD", "is_bash"))
    unbound = run(["rules/never_bash.yaml"], bash, DONE)
    assert (unbound.code, "is_bash" in unbound.err) == (2, True), unbound.text
    rawko.write(
        "own_rules.py",
        "from rawko import Bindings\nbindings = Bindings()\nopen('ran', 'w').close()\n"
        "@bindings.guard\ndef is_bash(context, event):\n"
        "    call = getattr(event.context, 'open_call', None)\n"
        "    return event.state == 'running_tool' and call is not None and call.call.name == 'bash'\n",
    )
    rawko.write("pyproject.toml", '[tool.rawko.bindings]\n"rules/never_bash.yaml" = "own_rules"\n')
    refused = run(["rules/never_bash.yaml"], bash, DONE)
    assert (refused.code, "own_rules" in refused.err) == (2, True), refused.text
    assert not (rawko.folder / "ran").exists()
    trusted = run(["rules/never_bash.yaml"], bash, READS, DONE, words=("--yes", "--trust"))
    assert trusted.report["outcome"] == "success", trusted.text
    assert not (rawko.folder / "made").exists()


def test_a_monitor_in_an_agents_file_watches_that_agent_alone(rawko: Shell, typed: Typed) -> None:
    rawko.write("there.txt", "old")
    agent = "name: {name}\nwhen_to_use: always\nsystem_prompt: Work.\n"
    rawko.write(".rawko/agents/careful.yaml", agent.format(name="careful") + "monitors: [no_write_before_read]\n")
    rawko.write(".rawko/agents/hasty.yaml", agent.format(name="hasty"))
    for name, left in (("careful", "old"), ("hasty", "new")):
        write = says(name, call("write", file_path="there.txt", content="new"))
        scenario = str(rawko.scenario(write, says(name, call("complete", summary="Done."))))
        ended = typed("run", "Work", "--agent", name, "--scenario", scenario, "--json", "--yes")
        assert ended.report["outcome"] == "success", ended.text
        assert rawko.read("there.txt") == left
    rawko.write(".rawko/config.yaml", "monitors: [no_write_before_read]\n")
    twice = typed("run", "Work", "--agent", "careful", "--scenario", scenario)
    assert (twice.code, "agent 'careful': monitors: two have the name" in twice.err) == (2, True), twice.text


@pytest.mark.parametrize(
    ("monitors", "said"),
    [
        (["no_write_before_reed"], "no_write_before_read"),
        (["rules/none.yaml"], "there is no file 'rules/none.yaml'"),
        (["../out.yaml"], "../out.yaml"),
        (["plan_before_code", "plan_before_code"], "two have the name 'plan_before_code'"),
        ([{"monitor": "plan_before_code", "violation": "shout"}], "shout"),
        ([{"violation": "stop"}], "monitor"),
        ("plan_before_code", "monitors"),
        (["rules/deaf.yaml"], "hears none of the events of a machine"),
        (["rules/broken.yaml"], "rules/broken.yaml"),
        (["rules/acting.yaml"], "a monitor invokes no actors"),
    ],
)
def test_bad_monitors_are_refused_before_anything_is_run(
    rawko: Shell, typed: Typed, run: Any, monitors: Any, said: str
) -> None:
    rawko.write("rules/deaf.yaml", "statechart: {name: d, root state: {name: d, initial: a, states: [{name: a}]}}")
    rawko.write("rules/broken.yaml", "statechart: {name: d, root state: {name: d, initial: b, states: [{name: a}]}}")
    rawko.write(
        "rules/acting.yaml",
        "statechart: {name: d, root state: {name: d, initial: a, states: [{name: a, invoke: {src: fetch}, "
        "transitions: [{event: state entered}]}]}}",
    )
    ended = run(monitors, DONE)
    assert (ended.code, said in ended.err) == (2, True), ended.text
    assert typed("runs", "--json").out == "", "nothing was begun"


def test_agents_under_the_arbiter_are_watched_each_anew(rawko: Shell, typed: Typed) -> None:
    rawko.write("there.txt", "old")
    rawko.write(".rawko/config.yaml", "monitors: [no_write_before_read]\n")
    second = says("tester", call("write", file_path="there.txt", content="newer"))
    told = says("tester", call("complete", summary="Done."))
    judged = (judges("SELECT_MODE", mode="tester", reason="tests"), second, told, judges("COMPLETE", summary="Done."))
    scenario = str(rawko.scenario(picks("developer"), READS, WRITES, DONE, *judged))
    ended = typed("run", "Work", "--scenario", scenario, "--json", "--yes")
    assert ended.report["outcome"] == "success", ended.text
    assert rawko.read("there.txt") == "new", "the tester has not read it"
    log = typed("log", ended.report["run"], "--agent", "tester", "--all").out
    assert "✗ write there.txt  refused by monitor no_write_before_read" in log
