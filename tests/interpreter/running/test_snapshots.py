"""Snapshots: one JSON object, restored exactly, refused without change (SEMANTICS: snapshot, restore)."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sismic.clock import SimulatedClock

from rawko.chart import parse_chart
from rawko.chart.definition import Chart
from rawko.interpreter import (
    Bindings,
    Interpreter,
    SnapshotError,
    StartInvocation,
    append,
    assign,
)
from rawko.interpreter.data.json_text import to_text
from rawko.interpreter.data.values import depth_of, parsed_value, thaw
from tests.interpreter.tables import chart_of, leaves, set_clock

CHART = """
name: r
initial: idle
states:
- {name: idle, transitions: [{event: GO, target: busy}, {event: HISTORY, target: h}]}
- name: busy
  initial: left
  after:
    10s: [{target: idle, action: [], on restore: POLICY}]
  invoke: {src: work, id: w, input: {n: 1}, timeout: 20s, on restore: RESTART, on done: idle, on error: failed}
  on entry: {send: {event: PING, to: out, delay: 5s}}
  transitions: [{event: ADD, action: add}, {event: STOP, target: idle}]
  states:
  - {name: left, transitions: [{event: N, target: right}]}
  - {name: right}
  - {name: h, type: deep history}
- name: failed
- name: done
  type: final
"""


def bindings() -> Bindings:
    found = Bindings()
    found.add("actor", "work", None)
    found.add("action", "add", lambda context, event: (append("items", event.n), assign(last=event.n)))
    return found


def make(policy: str = "original", restart: str = "restart", clock: float = 0.0) -> Interpreter:
    chart = chart_of(CHART.replace("POLICY", policy).replace("RESTART", restart))
    return Interpreter(chart, bindings(), input={"items": []}, clock=at(clock))


def at(time: float) -> SimulatedClock:
    clock = SimulatedClock()
    clock.time = time
    return clock


def busy(policy: str = "original", restart: str = "restart") -> Interpreter:
    interpreter = make(policy, restart)
    interpreter.send("GO")
    interpreter.send("STOP")
    interpreter.send("GO")
    interpreter.send("N")
    interpreter.send("ADD", n=1)
    interpreter.advance(1)
    return interpreter


def restored(original: Interpreter, clock: float) -> tuple[Interpreter, Any]:
    again = Interpreter(original.chart, bindings(), clock=at(clock))
    step = again.restore(json.loads(json.dumps(original.snapshot())))
    return again, step


def test_it_is_plain_json_of_a_known_shape() -> None:
    snapshot = busy().snapshot()
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert snapshot["configuration"] == ["r", "busy", "right"]
    assert snapshot["history"] == {"h": ["left"]}
    assert snapshot["context"] == {"items": [1], "last": 1}
    assert [timer[:4] for timer in snapshot["timers"]][-1] == [20, 9, "timeout.2", "error.invoke.w"]
    assert snapshot["invocations"] == [
        {
            "id": "w",
            "state": "busy",
            "src": "work",
            "input": {"n": 1},
            "number": 2,
            "attempt": 1,
            "started": 0,
            "policy": "restart",
            "held": False,
            "timeout": 20,
        }
    ]
    assert (snapshot["now"], snapshot["number"], snapshot["started"], snapshot["done"]) == (1, 2, True, False)


def test_a_restored_machine_is_the_same() -> None:
    original = busy(restart="resume")
    again, step = restored(original, 1)
    assert again.snapshot() == original.snapshot()
    assert step.effects == (StartInvocation("w", "work", {"n": 1}, 2, 1, "busy", "resume", is_resumed=True),)
    for machine in (original, again):
        machine.send("ADD", n=2)
        machine.send("STOP")
        machine.send("HISTORY")
    assert again.snapshot() == original.snapshot()
    assert (leaves(again), list(again.context["items"])) == ("right", [1, 2])


def test_no_entry_code_and_no_listener_runs() -> None:
    heard: list[str] = []
    again = make()
    again.attach(lambda event: heard.append(event.name))
    again.restore(busy().snapshot())
    assert heard == []


def test_unstarted_and_finished_machines() -> None:
    fresh = make()
    again, _ = restored(fresh, 0)
    assert (again.is_started, again.snapshot()) == (False, fresh.snapshot())
    chart = chart_of("name: r\ninitial: f\nstates: [{name: f, type: final, output: {n: 1}}]")
    ended = Interpreter(chart)
    ended.start()
    once_more = Interpreter(chart)
    once_more.restore(ended.snapshot())
    assert (once_more.final, once_more.output, once_more.configuration) == (True, {"n": 1}, ["r", "f"])
    assert once_more.execute() == []


def test_queued_events_are_kept_in_order() -> None:
    original = busy()
    original.queue("ADD", n=7)
    original.complete_invocation("w", 2, None)
    again, step = restored(original, 1)
    assert step.effects == ()  # its end is told already
    assert [s.event.name for s in again.execute() if s.event] == ["ADD", "done.invoke.w"]
    assert leaves(again) == "idle"


TIMERS = [("original", 100, 10), ("original", 3, 10), ("remaining", 100, 109), ("restart", 100, 110)]


@pytest.mark.parametrize(("policy", "clock", "due"), TIMERS)
def test_timers_by_policy(policy: str, clock: float, due: float) -> None:
    again, _ = restored(busy(policy), clock)
    (found,) = [timer for timer in again.snapshot()["timers"] if timer[2] == "after.busy.0"]
    assert found[0] == due
    set_clock(again, max(due, clock))
    assert again.matches("busy")
    again.execute()
    assert leaves(again) == "idle"


def test_past_ones_come_in_their_order() -> None:
    again, _ = restored(busy(restart="resume"), 100)
    steps = again.execute()
    assert [(s.event.name if s.event else None, len(s.effects)) for s in steps] == [
        (None, 1),  # the two delayed sends to another
        (None, 1),
        ("after.busy.0", 1),
    ]


def test_restart_gives_a_new_number_attempt_and_time() -> None:
    again, step = restored(busy(), 100)
    assert step.effects == (StartInvocation("w", "work", {"n": 1}, 3, 2, "busy", "restart"),)
    assert again.complete_invocation("w", 2) is False
    snapshot = again.snapshot()
    assert [timer[:3] for timer in snapshot["timers"] if timer[9]] == [[120, snapshot["seq"], "timeout.3"]]
    assert snapshot["invocations"][0]["started"] == 100


def test_reset_workspace_is_told_to_the_runtime() -> None:
    _, step = restored(busy(restart="reset workspace"), 1)
    (effect,) = step.effects
    assert (effect.policy, effect.attempt) == ("reset workspace", 2)


def test_ask_is_held_until_released() -> None:
    again, step = restored(busy(restart="ask"), 9)
    assert step.effects == ()
    assert again.invocations["w"].is_held
    twice, _ = restored(again, 9)
    released = twice.release("w")
    assert released.effects == (StartInvocation("w", "work", {"n": 1}, 3, 2, "busy", "ask"),)
    assert twice.complete_invocation("w", 3) is True
    with pytest.raises(SnapshotError, match="no invocation 'w' is held"):
        twice.release("w")
    assert not any(timer[9] for timer in again.snapshot()["timers"])  # who waits for a person does not time out
    assert [timer[0] for timer in twice.snapshot()["timers"] if timer[9]] == [29]


def test_fail_tells_the_machine_that_it_was_lost() -> None:
    again, step = restored(busy(restart="fail"), 1)
    assert step.effects == ()
    (lost,) = again.execute()
    assert lost.event is not None
    assert (lost.event.name, lost.event.error.kind) == ("error.invoke.w", "lost")
    assert leaves(again) == "failed"


def damaged(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    snapshot = copy.deepcopy(busy().snapshot())
    place: Any = snapshot
    for part in path[:-1]:
        place = place[part]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return snapshot


DAMAGES = [
    (("format",), 3, "found 3, accepted: 1 to 2"),
    (("chart", "hash"), "other", "the chart has changed since"),
    (("context",), KeyError, "missing 'context'"),
    (("context",), 5, "accepted: a mapping"),
    (("configuration",), ["r", "nowhere"], "no state 'nowhere'"),
    (("configuration",), ["r", "busy"], "'busy' needs exactly one active child, found 0"),
    (("configuration",), ["r", "idle", "busy", "left"], "'r' needs exactly one"),
    (("configuration",), ["idle"], "the root is not active"),
    (("configuration",), ["r", "left"], "'left' cannot be active here"),
    (("configuration",), [], "contradict each other"),
    (("history",), {"idle": ["idle"]}, "'idle' is not a history state"),
    (("history",), {"h": ["idle"]}, "'idle' is not inside the parent"),
    (("history",), {"h": ["left", "right"]}, "needs exactly one active child, found 2"),
    (("history",), {"h": []}, "needs exactly one active child, found 0"),
    (("timers", 0, 6), "idle", "not active"),
    (("timers", 0), [1, 2], "damaged"),
    (("invocations", 0, "state"), "idle", "'w' belongs to 'idle', not active"),
    (("invocations", 0), {}, "damaged"),
    (("seq",), "many", "damaged"),
    (("number",), None, "damaged"),
    (("now",), [], "damaged"),
    (("entry",), 5, "damaged"),
    (("input",), 5, "damaged"),
    (("old",), {"nowhere": {}}, "no state 'nowhere'"),
    (("external",), [[0, 1, "event", "E"]], "damaged"),
]


@pytest.mark.parametrize(("path", "value", "message"), DAMAGES)
def test_a_snapshot_that_does_not_fit_is_refused_without_change(path: Any, value: Any, message: str) -> None:
    fresh = make()
    before = fresh.snapshot()
    with pytest.raises(SnapshotError, match="snapshot: ") as caught:
        fresh.restore(damaged(path, value))
    assert message in str(caught.value)
    assert fresh.snapshot() == before
    fresh.restore(busy().snapshot())


@pytest.mark.parametrize("found", [None, [], "5", b"[]"])
def test_not_even_a_mapping(found: Any) -> None:
    with pytest.raises(SnapshotError, match="accepted: a mapping"):
        make().restore(found)


def test_only_a_fresh_machine_is_filled() -> None:
    interpreter = busy()
    with pytest.raises(SnapshotError, match="needs a fresh machine"):
        interpreter.restore(interpreter.snapshot())


def test_not_within_a_step() -> None:
    caught: list[Exception] = []
    interpreter = make()

    def look(event: Any) -> None:
        try:
            interpreter.snapshot()
        except SnapshotError as error:
            caught.append(error)

    interpreter.start()
    interpreter.attach(look)
    interpreter.send("GO")
    assert caught


def test_equal_machines_give_equal_bytes() -> None:
    assert json.dumps(busy().snapshot()) == json.dumps(busy().snapshot())
    again, _ = restored(busy(restart="resume"), 1)
    assert json.dumps(again.snapshot()) == json.dumps(busy(restart="resume").snapshot())


def test_a_checkpoint_is_gone_back_to_any_number_of_times() -> None:
    interpreter = busy()
    checkpoint = interpreter.checkpoint()
    before = interpreter.snapshot()
    for n in range(2):
        interpreter.send("ADD", n=n)
        interpreter.advance(5)
        interpreter.send("STOP")
        interpreter.roll_back_to(checkpoint)
        assert interpreter.snapshot() == before


def test_the_hash_is_of_the_meaning() -> None:
    text = CHART.replace("POLICY", "original").replace("RESTART", "restart")
    chart: Chart = chart_of(text + "# a comment\n")
    Interpreter(chart, bindings()).restore(busy().snapshot())


def test_text_holds_the_data_of_the_snapshot() -> None:
    for machine in (busy(), busy(restart="resume"), make(), deepest()):
        text = machine.snapshot_json()
        assert json.dumps(json.loads(text)) == json.dumps(machine.snapshot())
        for found in (text, text.encode()):
            again = Interpreter(machine.chart, bindings(), clock=at(1))
            again.restore(found)
            read = Interpreter(machine.chart, bindings(), clock=at(1))
            read.restore(json.loads(text))
            assert again.snapshot() == read.snapshot()


HELD = """
statechart:
  name: caf\u00e9 "held"
  root state:
    name: root
    initial: work
    states:
      - name: work
        initial: a
        transitions: [{event: PAUSE, target: "b\u00eate"}, {event: END, target: end}]
        states:
          - {name: a, transitions: [{event: NEXT, target: c}]}
          - name: c
          - {name: recent, type: deep history}
      - {name: "b\u00eate", transitions: [{event: BACK, target: recent}]}
      - {name: end, type: final, output: {n: 1.5}}
"""


def test_text_of_a_machine_at_rest_is_what_json_gives_too() -> None:
    """It is put together from what is known before."""
    given = {"text": "caf\u00e9 \U0001f600\n", "items": [1, {"b": [None, -0.0, 1e300]}], "empty": [], "big": 10**30}
    machine = Interpreter(parse_chart(HELD), clock=at(1.25), input=given)
    machine.start()
    for event in (None, "NEXT", "PAUSE", "BACK", "END"):
        if event is not None:
            machine.send(event)
        text = machine.snapshot_json()
        assert json.dumps(json.loads(text)) == json.dumps(machine.snapshot())
        again = Interpreter(machine.chart, clock=at(1.25))
        again.restore(text)
        assert again.snapshot_json() == text
    assert machine.final


def outcome(chart: Chart, text: str) -> str:
    """The snapshot of a machine that was restored from the text, or the error."""
    machine = Interpreter(chart, clock=at(1.25))
    try:
        machine.restore(text)
    except SnapshotError as error:
        return f"{error}"
    return machine.snapshot_json()


DAMAGED_TEXTS = (
    ('"now":1.25', '"now":1'),
    ('"now":1.25', '"now":01.25'),
    ('"now":1.25', '"now":1e999'),
    ('"now":1.25', '"now":"1.25"'),
    ('"now":1.25', '"now":1.25,"x":[2'),
    ('"now":1.25', '"now":1.25,"done":true'),
    ('"context":{', '"context":[{'),
    ('"context":{', '"context":{},"x":{'),
    ('"context":{', '"context":{"deep":' + "[" * 300 + "]" * 300 + ","),
    ('"text":', '"infinite":1e999,"text":'),
    ('"text":', '"half":"\\ud800","text":'),
    ('"text":', '"text":"\\"},\\"external\\":[]","text":'),
    ('"old":{}', '"old":{"a":1}'),
    ('"old":{},"seq":', '"old":{}'),
    ('"timers":[]', '"timers":[1]'),
    ('"seq":2', '"seq":-2'),
    ('"seq":2', '"seq":2.0'),
    ('"seq":2', '"seq":true'),
    ('"seq":2', '"seq":2,"seq":3'),
    ('"number":0}', '"number":0'),
    ('"number":0}', '"number":0}}'),
    ('"number":0}', '"number":0} '),
    ('"number":0}', '"number":0,"input":{}}'),
    ('"recent":["c"]', '"recent":["work"]'),
    ('"started":true', '"started":false'),
    ('"done":false', '"done":true'),
    ('"output":null', '"output":7'),
    ('"format":2', '"format":1'),
    ('"format":2', '"format":3'),
    ('"name":"caf', '"name":"x'),
    ('"hash":"', '"hash":"x'),
)


@pytest.mark.parametrize(("part", "damaged"), DAMAGED_TEXTS)
def test_a_text_is_read_alike_when_one_like_it_was_read_before(part: str, damaged: str) -> None:
    """Later texts of a place are read by their parts."""
    machine = Interpreter(parse_chart(HELD), clock=at(1.25), input={"text": "a", "items": [1, {"b": [None]}]})
    machine.start()
    machine.send("NEXT")
    machine.send("PAUSE")
    good = machine.snapshot_json()
    assert part in good
    text = good.replace(part, damaged)
    expected = outcome(parse_chart(HELD), text)
    known = parse_chart(HELD)
    for _ in range(2):
        assert outcome(known, good) == good
    for _ in range(2):
        assert outcome(known, text) == expected
    assert outcome(known, good) == good


def test_a_record_that_was_found_legal_does_not_vouch_for_others() -> None:
    machine = Interpreter(parse_chart(HELD))
    machine.start()
    machine.send("PAUSE")
    snapshot = machine.snapshot()
    for _ in range(2):
        Interpreter(machine.chart).restore(snapshot)
        damaged: list[dict[str, list[str]]]
        damaged = [{"recent": ["a", "c"]}, {"recent": ["end"]}, {"recent": []}, {"work": ["a"]}, {"recent": ["x"]}]
        for history in damaged:
            with pytest.raises(SnapshotError):
                Interpreter(machine.chart).restore({**snapshot, "history": history})
        for active in (["root"], ["root", "work"], ["root", "work", "a", "end"], ["a"], ["root", "recent"], ["x"]):
            with pytest.raises(SnapshotError):
                Interpreter(machine.chart).restore({**snapshot, "configuration": active})


def deepest() -> Interpreter:
    """With a value of as many levels as are accepted."""
    value: Any = 1.5
    for level in range(199):
        value = [value] if level % 2 else {"a": value}
    machine = make()
    machine.send("GO")
    machine.send("ADD", n=value)
    return machine


def test_what_comes_from_text_is_frozen() -> None:
    again = Interpreter(make().chart, bindings(), clock=at(1))
    original = busy()
    original.send("ADD", n={"deep": [{"a": [1.5]}]})
    again.restore(original.snapshot_json())
    assert again.context["items"][1].deep[0].a[0] == 1.5
    with pytest.raises(AttributeError, match="read-only"):
        again.context["items"][1].deep[0].a = 2
    with pytest.raises(TypeError):
        again.context["items"][0] = 2
    again.send("ADD", n=3)
    assert list(again.context["items"])[2] == 3


NESTED = {"list": [1, [2, [{"b": [3.5, None]}]], {"c": {"d": [4]}}]}
READERS: dict[str, Callable[[Any], object]] = {
    "item": lambda items: items[1].list[1][1][0].b[0] == 3.5,
    "last": lambda items: items[-1].list[-1].c.d[0] == 4,
    "loop": lambda items: next(item for item in items if item != 1) == NESTED,
    "slice": lambda items: items[1:] == [NESTED],
    "length": lambda items: len(items) == 2,
    "equality": lambda items: items == [1, NESTED],
    "contains": lambda items: NESTED in items,
    "copy": lambda items: copy.deepcopy(items) == [1, NESTED],
    "pickle": lambda items: pickle.loads(pickle.dumps(items)) == [1, NESTED],
    "repr": lambda items: repr(items) == repr([1, NESTED]),
    "thaw": lambda items: thaw(items) == [1, NESTED],
    "depth": lambda items: depth_of(items) == 7,
    "append": lambda items: items.appended(2) == [1, NESTED, 2],
}


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_list_of_parsed_text_is_read_in_any_way_first(reader: str) -> None:
    original = Interpreter(make().chart, bindings(), clock=at(1), input={"items": [1, NESTED]})
    original.start()
    text = original.snapshot_json()
    again = Interpreter(original.chart, bindings(), clock=at(1))
    again.restore(text)
    assert READERS[reader](again.context["items"])
    assert again.snapshot_json() == text
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = again.context["items"].colour
    with pytest.raises(AttributeError, match="read-only"):
        again.context["items"][1].list = ()


def test_appending_to_a_list_of_parsed_text_leaves_the_older_one() -> None:
    original = Interpreter(make().chart, bindings(), clock=at(1), input={"items": [NESTED]})
    original.start()
    again = Interpreter(original.chart, bindings(), clock=at(1))
    again.restore(original.snapshot_json())
    old = again.context["items"]
    new = old.appended(2)
    assert json.dumps(thaw(old)) == json.dumps([NESTED]) == json.dumps(json.loads(to_text(old)))
    assert json.dumps(thaw(new)) == json.dumps([NESTED, 2]) == json.dumps(json.loads(to_text(new)))
    assert old.appended(3) == [NESTED, 3]


def test_threads_read_a_list_of_parsed_text_at_once() -> None:
    vector = parsed_value([{"n": [n, {"m": [n]}]} for n in range(3_000)])
    start = threading.Barrier(4)
    found: list[Any] = []

    def read() -> None:
        start.wait()
        found.append((sum(item.n[1].m[0] for item in vector), to_text(vector)))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(sum(range(3_000)), to_text(vector))] * 4


def test_brackets_in_texts_are_no_levels() -> None:
    original = Interpreter(make().chart, bindings(), clock=at(1), input={"items": ["[" * 5_000, '{"' * 5_000]})
    original.start()
    again = Interpreter(original.chart, bindings(), clock=at(1))
    again.restore(original.snapshot_json())
    assert again.context["items"] == ["[" * 5_000, '{"' * 5_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the text is no snapshot"),
        ("[]", "found list, accepted: a mapping"),
        ("\ufeff{}", "the text is no snapshot"),
        ('{"a": [[-Infinity]]}', "a finite number"),
        ('{"a": [' + "[" * 215 + "]" * 215 + ", 1]}", "levels of nesting"),
        ('[{"a": {}}, ' + '{"a": [' * 150 + "]}" * 150 + "]", "levels of nesting"),
        (b"\xff", "the text is no snapshot"),
        ('{"format": NaN}', "a finite number"),
        ('{"format": 1e999}', "a finite number"),
        ('{"a": ' * 300 + "1" + "}" * 300, "levels of nesting"),
        ("[" * 100_000 + "]" * 100_000, "levels of nesting"),
        ('{"a": ' + "9" * 5_000 + "}", "the text is no snapshot"),
    ],
)
def test_text_that_is_no_snapshot_is_refused(text: str | bytes, message: str) -> None:
    fresh = make()
    with pytest.raises(SnapshotError, match=message):
        fresh.restore(text)
    assert not fresh.is_started


def test_input_is_written_until_the_machine_starts() -> None:
    fresh = make()
    assert fresh.snapshot()["input"] == {"items": []}
    again = Interpreter(fresh.chart, bindings())
    again.restore(fresh.snapshot())
    assert again.input == {"items": []}
    without = {key: value for key, value in fresh.snapshot().items() if key != "input"}
    with pytest.raises(SnapshotError, match="missing 'input'"):
        make().restore(without)
    fresh.start()
    assert "input" not in fresh.snapshot()


def test_a_snapshot_of_format_1_goes_on() -> None:
    text = Path(__file__).with_name("snapshot_format_1.json").read_text(encoding="utf-8")
    assert json.loads(text)["input"] == {"items": []}
    for found in (text, json.loads(text)):
        again = Interpreter(make(restart="resume").chart, bindings(), clock=at(1))
        again.restore(found)
        assert again.snapshot() == busy(restart="resume").snapshot()
        again.send("ADD", n=2)
        assert list(again.context["items"]) == [1, 2]


def test_a_clock_that_stands_at_infinity_is_no_text() -> None:
    machine = Interpreter(make().chart, bindings(), clock=at(1))
    machine.start()
    machine.clock.time = float("inf")  # type: ignore[misc]
    machine.execute()
    with pytest.raises(SnapshotError, match="the clock stands at inf; accepted: a finite number of seconds"):
        machine.snapshot_json()
