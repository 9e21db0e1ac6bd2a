"""The monitor of AL-080: it lets every good run pass, and stops a broken machine before it does any harm.

Each case breaks the shipped chart or its functions in one place, as somebody might who edits a copy of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from rawko.chart import parse_chart, shipped_path
from rawko.interpreter import Interpreter, thaw
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.data.updates import append, assign
from rawko.interpreter.monitoring.guarding import MonitorViolated, watch
from rawko.machines.agent_loop import bindings
from rawko.machines.agent_loop.monitors.invariants import monitors

SHIPPED = (shipped_path("statecharts") / "agent_loop.yaml").read_text(encoding="utf-8")
CALL = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
TURN = {
    "message": {"role": "assistant", "content": [CALL]},
    "stop_reason": "tool_use",
    "usage": {},
    "model": "m",
}
ALLOWED = {"decision": "allow", "rule": "r", "reason": ""}
RAN = {"content": "made", "is_error": False, "is_broken": False, "is_denied": False, "touched": None, "exit_code": 0}
SHOT = {"snapshot": {"tree": "t0", "commit": "k0", "label": "start"}, "written": []}
SCRIPT: list[dict[str, Any]] = [SHOT, TURN, ALLOWED, RAN, SHOT]
"""What the actors of a run answer, one after the other, up to its second turn."""


def machine_of(text: str, action: Any = None) -> Interpreter:
    """A watched machine, begun; its contracts are off, so that the monitor is on its own."""
    own = Bindings()
    if action is not None:
        own.add("action", "broken", action)
    machine = Interpreter(
        parse_chart(text), bindings | own, input={"prompt": "go"}, clock=SimulatedClock(), ignore_contract=True
    )
    watch(machine, monitors())
    machine.start()
    return machine


def play(machine: Interpreter, script: list[dict[str, Any]] = SCRIPT) -> Interpreter:
    """The script, as far as the monitor lets it."""
    for answer in script:
        [(id, invocation)] = machine.invocations.items()
        assert machine.complete_invocation(id, invocation.number, answer)
        machine.execute()
    return machine


def broken(old: str, new: str) -> str:
    assert old in SHIPPED
    return SHIPPED.replace(old, new, 1)


def test_a_good_run_passes() -> None:
    machine = play(machine_of(SHIPPED))
    assert machine.configuration[-1] == "thinking"
    assert thaw(machine.context)["tool_steps"] == 1


def _without_entry(context: Any, event: Any) -> Any:
    return assign(tool_steps=context.tool_steps + 1, open_call=None, touched=None)


def _of_another_call(context: Any, event: Any) -> Any:
    call = thaw(context.open_call)["call"]
    result = {"call_id": "other", "content": "x", "is_error": False}
    return (
        append("tool_history", {"call": call, "result": result}),
        append("turn_results", result),
        assign(tool_steps=1, open_call=None, touched=None),
    )


def _fewer_turns(context: Any, event: Any) -> Any:
    call = thaw(context.open_call)["call"]
    result = {"call_id": call["id"], "content": "x", "is_error": False}
    return append("tool_history", {"call": call, "result": result}), assign(tool_steps=1, turns=0, open_call=None)


def _unanswered(context: Any, event: Any) -> Any:
    return assign(turn_results=[], open_call=None)


AFTER_TOOL = "- {target: capturing_snapshot, action: record_result}"
UNCAPTURED = broken(AFTER_TOOL, "- {target: deciding, action: record_result}")
RECORDING = broken("target: capturing_snapshot, action: record_result", "target: capturing_snapshot, action: broken")
ANSWERING = SHIPPED.replace("target: thinking, action: answer_turn", "target: thinking, action: broken")
CASES: list[tuple[str, str, Any, str]] = [
    ("a tool that writes is not followed by a capture", UNCAPTURED, None, "change_not_captured"),
    ("a step without an entry", RECORDING, _without_entry, "history_shrank"),
    ("an entry with the answer of another call", RECORDING, _of_another_call, "call_without_answer"),
    ("the turn's results are thrown away", ANSWERING, _unanswered, "call_without_answer"),
    ("a count that goes back", RECORDING, _fewer_turns, "history_shrank"),
]


@pytest.mark.parametrize(("text", "action", "state"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_broken_machine_is_stopped(text: str, action: Any, state: str) -> None:
    with pytest.raises(MonitorViolated) as caught:
        play(machine_of(text, action))
    assert (caught.value.monitor, caught.value.state) == ("agent_loop_invariants", state)
    assert f"state {state!r}" in str(caught.value)


def test_nothing_of_the_step_is_begun() -> None:
    """Before damage: the step that would have gone on is rolled back, and no effect of it is seen."""
    machine = play(machine_of(UNCAPTURED), SCRIPT[:3])
    seen: list[Any] = []
    machine.subscribe(lambda step: seen.extend(step.effects))
    before = thaw(machine.context)
    for _ in range(2):  # the monitor is as before, too, and objects again
        [(id, invocation)] = machine.invocations.items()
        assert id == "execute_tool"
        machine.complete_invocation(id, invocation.number, RAN)
        with pytest.raises(MonitorViolated):
            machine.execute()
        assert (thaw(machine.context), machine.configuration[-1]) == (before, "running_tool")
    assert seen == []


TWO_TOOLS = """
statechart:
  name: my_own
  context: AgentLoopContext
  root state:
    name: agent_loop
    parallel states:
      - name: one
        initial: resting
        states:
          - {name: resting, transitions: [{event: GO, target: running_tool}]}
          - {name: running_tool}
      - name: other
        initial: waiting_too
        states:
          - {name: waiting_too, transitions: [{event: ALSO, target: capturing_snapshot}]}
          - {name: capturing_snapshot}
"""


def test_two_at_work_at_once_are_stopped() -> None:
    """A chart of one's own, with regions that get into each other's way."""
    machine = Interpreter(parse_chart(TWO_TOOLS), bindings)
    watch(machine, monitors())
    machine.start()
    machine.send("GO")
    with pytest.raises(MonitorViolated) as caught:
        machine.send("ALSO")
    assert caught.value.state == "two_tools_at_once"
    assert machine.configuration == ["agent_loop", "one", "other", "running_tool", "waiting_too"]


def test_another_machine_is_not_watched() -> None:
    chart = parse_chart("statechart:\n  name: other\n  root state: {name: other}\n")
    machine = Interpreter(chart)
    watch(machine, monitors())
    machine.start()
    assert machine._observation is None
