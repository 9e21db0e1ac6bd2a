"""XState's JSON as charts: what maps to what, what is lost, what is refused; and real XState as the judge."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawko.chart import ChartDefinitionError, ChartSyntaxError, parse_chart
from rawko.chart.definition import (
    And,
    AssignAction,
    CallAction,
    CancelAction,
    EmitAction,
    FixedDelay,
    GuardCall,
    InState,
    LiteralArgument,
    LogAction,
    NamedDelay,
    Not,
    Or,
    RaiseAction,
    SendAction,
)
from rawko.chart.formats.exchange import Imported
from rawko.chart.formats.json_nodes import read_json
from rawko.chart.formats.xstate import import_xstate
from rawko.chart.formats.xstate.source import Source
from rawko.chart.formats.xstate.tree import Tree
from rawko.chart.source.nodes import MappingNode
from tests.formats.machines import FETCH, MACHINES, PLAYER
from tests.formats.walks import Walker, request
from tests.formats.xstate_node import XStateNode


def imported(machine: Any) -> Imported:
    return import_xstate(json.dumps(machine, indent=1), file="machine.json")


def state(**config: Any) -> dict[str, Any]:
    """A machine with one state of this configuration beside another."""
    return {"id": "m", "initial": "a", "states": {"a": config, "b": {}}}


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_imports_take_the_same_transitions_as_xstate(node: XStateNode, name: str) -> None:
    machine = MACHINES[name]
    chart = imported(machine).chart
    root = read_json(json.dumps(machine), "m").root
    assert isinstance(root, MappingNode)
    names = {found.id: found.name for found in Tree(root, machine.get("id", "(machine)")).root}
    for seed in range(40):
        walker = Walker(chart, seed)
        walked = walker.walk(25)
        asked = request(walker, walked)
        for step in asked["steps"]:
            _rename_actor(step, machine)
        answer = node.run({**asked, "machine": machine})
        assert answer["failure"] is None or walked.failure is not None, answer["failure"]
        for step, ours, theirs in zip(walked.steps, walked.seen, answer["steps"], strict=False):
            theirs["active"] = sorted(names[id] for id in theirs["active"])
            assert theirs == ours, step


ACTORS = {"double": {"work": "0.double.first", "other_2": "other"}}
"""The chart's names of invocations that have none in XState, or have one twice."""


def _rename_actor(step: dict[str, Any], machine: dict[str, Any]) -> None:
    event = step.get("event", {})
    ours = event.get("actorId")
    theirs = ACTORS.get(machine.get("id", ""), {}).get(ours)
    if theirs is not None:
        step["event"] = {**event, "type": event["type"].removesuffix(ours) + theirs, "actorId": theirs}


@pytest.mark.parametrize("name", MACHINES)
def test_yaml_of_imports_is_the_chart(name: str) -> None:
    found = imported(MACHINES[name])
    assert parse_chart(found.text).hash == found.chart.hash


def test_a_machine_in_the_charts_words() -> None:
    assert (
        imported(FETCH).text
        == """\
statechart:
  name: fetch
  version: 1.2.0
  root state:
    name: fetch
    description: Loads a page
    on entry: [{assign: {retries: 0, pages: []}}, note]
    initial: idle
    output: {done: true}
    states:
      - name: idle
        tags: [calm]
        transitions:
          - {event: FETCH, target: loading}
      - name: loading
        description: Waits for the server
        tags: [busy, network]
        meta: {colour: blue}
        on entry: ["track(what='load', n=1)", spin]
        on exit: unspin
        invoke:
          src: fetchPage
          input: {url: /}
          on done: {target: success, action: keep}
          on error:
            - {guard: canRetry(most=3), target: waiting, action: count}
            - failure
        transitions:
          - {event: CANCEL, target: idle, description: By the user}
      - name: waiting
        after:
          1s: {guard: online, target: loading}
          giveUp: failure
      - {name: success, type: final, output: {ok: true}}
      - name: failure
        transitions:
          - {event: RETRY, target: loading}
          - {event: RESET, target: idle}
"""
    )


def test_names_of_states_are_keys_where_those_are_unique() -> None:
    chart = imported(PLAYER).chart
    assert list(chart.states) == [
        "player", "video", "player.video.off", "player.video.on", "paused", "playing", "slow", "fast", "ended",
        "hist", "last", "audio", "sound", "player.audio.off",
    ]  # fmt: skip


def test_reenter_is_the_opposite_of_internal() -> None:
    rows = {row.events[0]: row for row in imported(PLAYER).chart["player.video.on"].transitions}
    assert [rows[event].internal for event in ("NEXT", "AGAIN", "JUMP", "LEAP", "POWER")] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_wildcards_come_after_exact_names_the_longest_first() -> None:
    chart = imported(PLAYER).chart
    rows = [row.events for row in chart["player.video.on"].transitions if row.origin == "transitions"]
    assert rows[-4:] == [("job.part.one",), ("job.part.*",), ("job.*",), ("*",)]
    assert chart["player.video.on"].transitions[0].origin == "on done"


def guard_of(guard: Any) -> Any:
    return imported(state(on={"E": {"guard": guard, "target": "b"}})).chart.transitions[0].guard


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("isReady", GuardCall("isReady")),
        ({"type": "has", "params": {"n": 1}}, GuardCall("has", (("n", LiteralArgument(1)),))),
        ({"type": "not", "guards": ["x"]}, Not(GuardCall("x"))),
        (
            {"type": "and", "guards": ["x", {"type": "or", "guards": ["y", "z"]}]},
            And((GuardCall("x"), Or((GuardCall("y"), GuardCall("z"))))),
        ),
        ({"type": "xstate.guard:and", "params": {"guards": ["x", "y"]}}, And((GuardCall("x"), GuardCall("y")))),
        ({"type": "xstate.stateIn", "params": {"stateValue": "#m.b"}}, InState("b")),
        ({"type": "stateIn", "state": {"a": {}}}, InState("a")),
        ("x and not y", And((GuardCall("x"), Not(GuardCall("y"))))),
    ],
)  # fmt: skip
def test_guards(guard: Any, expected: Any) -> None:
    assert guard_of(guard) == expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("go", CallAction("go")),
        ({"type": "go", "params": {"to": ["x"]}}, CallAction("go", (("to", LiteralArgument(["x"])),))),
        ({"type": "xstate.raise", "params": {"event": {"type": "E", "n": 1}}}, RaiseAction("E", (("n", 1),))),
        ({"type": "xstate.raise", "event": "E", "delay": 50}, SendAction("E", delay=FixedDelay(50))),
        (
            {"type": "xstate.sendTo", "to": "x", "event": "E", "id": "i", "delay": "long"},
            SendAction("E", to="x", delay=NamedDelay("long"), id="i"),
        ),
        ({"type": "xstate.cancel", "params": {"id": "i"}}, CancelAction("i")),
        ({"type": "xstate.emit", "params": {"event": {"type": "E"}}}, EmitAction("E")),
        ({"type": "xstate.log", "params": {"message": "hi"}}, LogAction("hi")),
        ({"type": "xstate.assign", "params": {"n": 1}}, AssignAction((("n", 1),))),
    ],
)  # fmt: skip
def test_actions(action: Any, expected: Any) -> None:
    assert imported(state(entry=action)).chart["a"].on_entry == (expected,)


def test_null_is_a_transition_that_stops_the_event() -> None:
    (row,) = imported(state(on={"E": None})).chart["a"].transitions
    assert (row.events, row.targets, row.actions) == (("E",), (), ())


def losses_of(machine: Any) -> list[str]:
    return [str(found) for found in imported(machine).losses]


@pytest.mark.parametrize(
    ("machine", "loss"),
    [
        (
            state(entry="fetch-data"),
            "6:13: lost: warning: action 'fetch-data' is called 'fetch_data' here: bound names are identifiers",
        ),
        (state(entry={"type": "xstate.spawnChild"}), "6:13: lost: warning: action 'xstate.spawnChild' is left out"),
        (state(entri="x"), "6:4: lost: warning: key 'entri' of state 'a' is not read; did you mean 'entry'?"),
        (state(route={}), "6:4: lost: warning: key 'route' of state 'a' is not read"),
        (state(type="final", on={"E": "b"}), "'on' of final state 'a' is left out: it is never exited here"),
        (state(type="final", output="text"), "an output that is a text is left out"),
        (state(invoke={"src": "x", "input": 5}), "an input that is no object is left out"),
        (state(invoke={"src": "x", "systemId": "s"}), "key 'systemId' of an invoke of 'a' is not read"),
        (state(on={"xstate.init": "b"}), "transitions on 'xstate.init' are left out"),
        (state(meta=5), "meta that is no object is left out"),
        (state(on={"E": {"target": "b", "meta": {}}}), "key 'meta' of a transition of 'a' is not read"),
        ({**state(), "on": {"E": {"target": "#m", "reenter": True}}}, "the root is not exited"),
    ],
)  # fmt: skip
def test_losses_are_told(machine: Any, loss: str) -> None:
    assert any(loss in line for line in losses_of(machine)), losses_of(machine)


def test_a_plain_machine_loses_nothing() -> None:
    assert losses_of(FETCH) == losses_of(PLAYER) == []


@pytest.mark.parametrize(
    ("machine", "defect"),
    [
        ([], "1:1: wrong-type: expected an object"),
        (state(on={"E": "c"}), "unknown-target: state 'a' leads to 'c', which does not exist"),
        (state(on={"E": "#c"}), "unknown-target"),
        ({**state(), "on": {"E": "a"}}, "from the root, its child is '.a'"),
        ({"id": "m", "states": {"a": {}}}, "missing-initial: compound state 'm' has no initial; children: 'a'"),
        ({**state(), "initial": "aa"}, "unknown-state: initial 'aa' of 'm' does not exist; did you mean 'a'?"),
        (state(on={"E": {"cond": "x"}}), "unknown-key: 'cond' is XState 4's; version 5 has guard"),
        (state(on={"E": {"internal": False, "target": "b"}}), "'internal' is XState 4's"),
        (state(activities="x"), "'activities' is XState 4's"),
        (state(on={"": "b"}), "invalid-event"),
        (state(on={"a.*.b": "b"}), "a wildcard in the middle"),
        (state(after={"-5": "b"}), "invalid-delay"),
        (state(invoke={"id": "x"}), "an invoke needs 'src'"),
        (state(type="paralel"), "invalid-value: there is no type 'paralel'; did you mean 'parallel'?"),
        (state(type="final", initial="c", states={"c": {}}), "conflicting-keys"),
        (state(entry=5), "wrong-type"),
        (state(on=5), "wrong-type"),
        (state(states=5), "wrong-type"),
        (state(history="deep", target="c"), "history 'a' leads to 'c', which does not exist"),
        (state(on={"E": {"guard": {"type": "stateIn", "state": "#x"}}}), "unknown-state"),
        (state(entry={"params": {}}), "needs the key 'type'"),
    ],
)  # fmt: skip
def test_defects_are_errors(machine: Any, defect: str) -> None:
    with pytest.raises(ChartDefinitionError) as caught:
        imported(machine)
    assert any(defect in str(found) for found in caught.value.diagnostics), str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: json-syntax: expected a value, found the end"),
        ('{"a": 1,}', "1:9: json-syntax: expected a key in double quotes, found '}'"),
        ('{"a" 1}', "1:6: json-syntax: expected ':', found '1'"),
        ('{"a": [1 2]}', "1:10: json-syntax: expected ',' or ']', found '2'"),
        ('{\n  "a": nul\n}', "2:8: json-syntax: expected a value, found 'n'"),
        ('{"a": "x', "json-syntax: unterminated string"),
        ('{"a": "\\ud800"}', "1:7: json-syntax: half of a surrogate pair"),
        ("{} {}", "1:4: json-syntax: expected the end"),
        ("[" * 300, "too-deep"),
    ],
)
def test_what_is_no_json(text: str, message: str) -> None:
    with pytest.raises(ChartSyntaxError) as caught:
        import_xstate(text, file="m.json")
    assert message in str(caught.value)


def test_json_is_read_as_json_with_places() -> None:
    document = read_json('{"a":\t"\\/\\ud83d\\ude00", "b":[1,2.5e3,true,null]}', "m")
    assert Source(document).json(document.root) == {"a": "/😀", "b": [1, 2500.0, True, None]}
    with pytest.raises(ChartDefinitionError, match="1:20: duplicate-key: key 'id' occurs twice"):
        import_xstate('{"id": "a",        "id": "b"}', file="m")
