"""A project with a machine of its own that runs two lanes at once, and then says what became of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.cli.shell import Shell

CHART = """\
statechart:
  name: pair
  context: Memory
  root state:
    name: pair
    initial: at_work
    output: report
    states:
      - name: at_work
        parallel states:
          - {name: left, initial: left_runs, states: [{name: left_runs, invoke: {id: a, src: run_lane,
              input: a_input, on done: {target: left_done, action: keep},
              on error: {target: left_done, action: keep_error}}},
              {name: left_done, type: final}]}
          - {name: right, initial: right_runs, states: [{name: right_runs, invoke: {id: b, src: run_lane,
              input: b_input, on done: {target: right_done, action: keep},
              on error: {target: right_done, action: keep_error}}}, {name: right_done, type: final}]}
        transitions:
          - {event: CANCEL, target: cancelled}
          - {guard: has_winner, target: ended}
        on done: ended
      - {name: ended, type: final}
      - {name: cancelled, type: final}
"""
CODE = '''\
"""What the names in pair.yaml stand for."""

import json
from pathlib import Path
from typing import Any

from rawko import Bindings, append, assign
from rawko.machines.agent_input import AgentInput

bindings = Bindings()
bindings.declare("actor", "run_lane")
ORDERS = json.loads(Path(__file__).with_name("orders.json").read_text())


@bindings.context
class Memory(AgentInput):
    lanes: list[Any] = []


@bindings.input
def a_input(context, event):
    return ORDERS["a"]


@bindings.input
def b_input(context, event):
    return ORDERS["b"]


@bindings.guard
def has_winner(context, event):
    return bool(ORDERS.get("first") and any(lane.get("outcome") == "success" for lane in context.lanes))


@bindings.action
def keep(context, event):
    return append("lanes", event.output)


@bindings.action
def keep_error(context, event):
    return append("lanes", {**event.error, "outcome": "failed"})


def plain(value):
    return dict(value) if hasattr(value, "items") else list(value)


@bindings.output
def report(context, event):
    lanes = sorted(context.lanes, key=lambda lane: lane.get("lane") or "")
    told = json.dumps([dict(lane) for lane in lanes], default=plain)
    return {"outcome": "success" if lanes else "cancelled", "summary": told}
'''
AGENT = "name: {name}\nwhen_to_use: x\nsystem_prompt: You write.\n"
RUN = ("run", "Go", "--agent", "pair", "--trust", "--json", "--yes")


def make_project(rawko: Shell) -> None:
    """Write the chart, its functions, its agents, and a config that says where the functions are."""
    rawko.write("pair.yaml", CHART)
    rawko.write("pair.py", CODE)
    rawko.write(".rawko/agents/pair.yaml", AGENT.format(name="pair") + "chart: pair.yaml\n")
    rawko.write(".rawko/agents/writer.yaml", AGENT.format(name="writer"))
    rawko.write("pyproject.toml", '[tool.rawko.bindings]\n"pair.yaml" = "pair"\n')
    orders(rawko)


def orders(rawko: Shell, a: Mapping[str, Any] | None = None, b: Mapping[str, Any] | None = None, **more: Any) -> None:
    """What the lanes are to do; by default the agent `writer` does the task in each."""
    given = {
        name: {"lane": name, "agent": "writer", "task": f"Do {name}", **(own or {})}
        for name, own in (("a", a), ("b", b))
    }
    rawko.write("orders.json", json.dumps({**given, **more}))


def lanes_of(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the lanes have answered, by their names; a failed one's error."""
    return {str(lane.get("lane")): lane for lane in json.loads(report["summary"])}
