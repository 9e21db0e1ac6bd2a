"""What charts mean: keys to definition, document order, positions, trust, hash."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from rawko.chart import BoundNames, ChartError, check_chart, from_statechart, parse_chart, to_sismic_yaml, to_statechart
from rawko.chart.definition import (
    After,
    And,
    AssignAction,
    CallAction,
    CancelAction,
    Chart,
    CodeAction,
    CodeGuard,
    Constant,
    DeclaredEvent,
    EmitAction,
    FixedDelay,
    GuardCall,
    Invoke,
    LiteralArgument,
    LogAction,
    NamedDelay,
    Not,
    RaiseAction,
    SendAction,
)

FULL = """\
statechart:
  name: full
  description: All of it
  version: 1.10
  context: FullContext
  events:
    GO: [who, why]
    STOP:
    TICK: {fields: [n], description: of the clock}
  root state:
    name: root
    initial: idle
    states:
    - name: idle
      description: Waits
      tags: [settled, calm]
      meta: {colour: blue, n: 1}
      on entry: [enter(n=1), assign: {count: 0, list: []}]
      on exit: leave
      transitions:
      - event: GO
        guard: ready and not full
        target: busy
        action: count
        priority: high
        contract: [{before: a}, {after: b}, {always: c}]
        description: Off it goes
      - {event: [a.*, '*'], internal: true, target: idle}
      - {event: STOP}
      always: {guard: bored, target: done}
      after:
        150ms: busy
        2.5s: [{guard: g, target: busy}, {target: done, on restore: remaining}]
        patience: {action: [{raise: TICK}, {raise: {event: TICK, data: {n: 1}}}]}
    - name: busy
      parallel states:
      - name: left
        initial: l1
        states:
        - {name: l1, transitions: [{event: GO, target: [l2, r2]}]}
        - {name: l2, type: final}
        - {name: lh, type: shallow history, memory: l1}
      - name: right
        initial: r1
        states:
        - {name: r1}
        - {name: r2, type: final, output: right_output}
      on done: done
      invoke:
      - src: fetch
        on error: idle
        on done: {target: done, action: keep}
      - {id: other, src: fetch, input: {page: 1}, timeout: 1h, on restore: reset workspace}
      - {id: third, src: walk, input: walk_input, timeout: patience}
    - name: bh
      type: deep history
    - name: done
      type: final
      output: {outcome: success}
      on entry:
      - send: PING
      - send: {event: PING, to: logger, delay: 2s, id: ping, data: {n: 1}}
      - cancel: ping
      - emit: {event: TICKED, data: {n: 1}}
      - emit: ENDED
      - log: the end
"""


@pytest.fixture(scope="module")
def full() -> Chart:
    return parse_chart(FULL, file="full.yaml")


def test_the_chart_itself(full: Chart) -> None:
    assert (full.name, full.root, full.description, full.version) == ("full", "root", "All of it", "1.10")
    assert full.context == "FullContext"
    assert dict(full.events) == {
        "GO": DeclaredEvent("GO", ("who", "why")),
        "STOP": DeclaredEvent("STOP"),
        "TICK": DeclaredEvent("TICK", ("n",), "of the clock"),
    }
    assert full.has_code is False


def test_states_stand_in_document_order(full: Chart) -> None:
    names = ["root", "idle", "busy", "left", "l1", "l2", "lh", "right", "r1", "r2", "bh", "done"]
    assert list(full.states) == names
    assert [state.order for state in full] == list(range(len(names)))
    assert full["busy"].children == ("left", "right")
    assert full["r2"].parent == "right"
    kinds = [full[name].kind for name in ("root", "idle", "busy", "l2", "lh", "bh")]
    assert kinds == ["compound", "atomic", "parallel", "final", "shallow history", "deep history"]


def test_a_state_keeps_what_is_said_of_it(full: Chart) -> None:
    idle = full["idle"]
    assert (idle.description, idle.tags, dict(idle.meta)) == ("Waits", ("settled", "calm"), {"colour": "blue", "n": 1})
    assert idle.on_entry == (
        CallAction("enter", (("n", LiteralArgument(1)),)),
        AssignAction((("count", 0), ("list", []))),
    )
    assert idle.on_exit == (CallAction("leave"),)
    assert full["lh"].memory == ("l1",)
    assert full["root"].initial == ("idle",)
    assert full["done"].output == {"outcome": "success"}
    assert full["r2"].output == "right_output"


def test_transitions_of_all_keys_stand_in_the_order_written(full: Chart) -> None:
    rows = [(each.origin, each.events, each.targets) for each in full["idle"].transitions]
    assert rows == [
        ("transitions", ("GO",), ("busy",)),
        ("transitions", ("a.*", "*"), ("idle",)),
        ("transitions", ("STOP",), ()),
        ("always", (), ("done",)),
        ("after", ("after.idle.0",), ("busy",)),
        ("after", ("after.idle.1",), ("busy",)),
        ("after", ("after.idle.1",), ("done",)),
        ("after", ("after.idle.2",), ()),
    ]
    rows = [(each.origin, each.events, each.targets) for each in full["busy"].transitions]
    assert rows == [
        ("on done", ("done.state.busy",), ("done",)),
        ("invoke on error", ("error.invoke.fetch",), ("idle",)),
        ("invoke on done", ("done.invoke.fetch",), ("done",)),
    ]
    assert all(full.transitions[each.index] is each for each in full.transitions)
    assert [each.index for each in full.transitions] == list(range(12))
    assert full["l1"].transitions[0].targets == ("l2", "r2")


def test_a_transition_keeps_what_is_said_of_it(full: Chart) -> None:
    first, second, _ = full["idle"].transitions[:3]
    assert first.guard == And((GuardCall("ready"), Not(GuardCall("full"))))
    assert (first.actions, first.priority, first.internal) == ((CallAction("count"),), 1, False)
    assert (first.contract.before, first.contract.after) == ((GuardCall("a"),), (GuardCall("b"),))
    assert first.contract.always == (GuardCall("c"),)
    assert first.description == "Off it goes"
    assert second.internal is True


def test_timers(full: Chart) -> None:
    assert full["idle"].after == (
        After("idle", 0, FixedDelay(150)),
        After("idle", 1, FixedDelay(2500), "remaining"),
        After("idle", 2, NamedDelay("patience")),
    )
    assert full["idle"].after[1].delay == FixedDelay(2500.0, "2.5s")
    assert full["idle"].after[2].event == "after.idle.2"


def test_invocations(full: Chart) -> None:
    first, other, third = full["busy"].invoke
    assert (first.id, first.src, first.on_restore) == ("fetch", "fetch", "restart")
    assert other == Invoke("other", "fetch", "busy", {"page": 1}, FixedDelay(3_600_000), "reset workspace")
    assert third == Invoke("third", "walk", "busy", "walk_input", NamedDelay("patience"))


def test_built_in_actions(full: Chart) -> None:
    assert full["done"].on_entry == (
        SendAction("PING"),
        SendAction("PING", (("n", 1),), "logger", FixedDelay(2000), "ping"),
        CancelAction("ping"),
        EmitAction("TICKED", (("n", 1),)),
        EmitAction("ENDED"),
        LogAction("the end"),
    )
    last = full["idle"].transitions[-1].actions
    assert last == (RaiseAction("TICK"), RaiseAction("TICK", (("n", 1),)))


@pytest.mark.parametrize(
    ("what", "place"),
    [
        (lambda chart: chart.position, "full.yaml:2:3"),
        (lambda chart: chart["idle"].position, "full.yaml:14:7"),
        (lambda chart: chart["idle"].transitions[0].position, "full.yaml:21:9"),
        (lambda chart: chart["idle"].transitions[0].guard.operands[1].operand.position, "full.yaml:22:30"),
        (lambda chart: chart["idle"].on_entry[1].position, "full.yaml:18:30"),
        (lambda chart: chart["idle"].after[1].position, "full.yaml:33:9"),
        (lambda chart: chart["busy"].invoke[0].position, "full.yaml:50:9"),
        (lambda chart: chart["done"].on_entry[1].position, "full.yaml:62:9"),
        (lambda chart: chart.events["TICK"].position, "full.yaml:9:5"),
        (lambda chart: chart.marks[("initial", "root")], "full.yaml:12:14"),
        (lambda chart: chart.marks[("target", 11, 1)], "full.yaml:40:61"),
    ],
)
def test_positions(full: Chart, what: Any, place: str) -> None:
    assert str(what(full)) == place


def test_names_may_be_whole_numbers_as_in_sismic() -> None:
    chart = parse_chart("statechart: {name: 1, root state: {name: 2, transitions: [{event: 3, target: 2}]}}")
    assert (chart.name, chart.root) == ("1", "2")
    assert chart.transitions[0].events == ("3",)


def test_names_may_hold_quotes_markup_and_emoji() -> None:
    name = "a \"b\" 'c' <d> 👩\u200d💻 # : ; {e}"
    chart = parse_chart("statechart: {name: t, root state: {name: '" + name.replace("'", "''") + "'}}")
    assert chart.root == name


def test_empty_lists_of_states_are_no_states() -> None:
    assert parse_chart("statechart: {name: t, root state: {name: r, states: []}}")["r"].kind == "atomic"


def test_a_compound_state_entered_through_its_children_needs_no_initial() -> None:
    chart = parse_chart("""
statechart:
  name: t
  root state:
    name: r
    initial: a
    states:
    - {name: a, transitions: [{event: E, target: c1}]}
    - {name: c, states: [{name: c1}, {name: c2}]}
""")
    assert chart["c"].initial == ()


DEFAULTS = """
statechart:
  name: t
  root state:
    name: r
    initial: {target: [b, d], action: open}
    states:
    - name: p
      parallel states:
      - {name: left, initial: a, states: [{name: a}, {name: b}]}
      - {name: right, initial: c, states: [{name: c}, {name: d}]}
    - {name: h, type: deep history, memory: {target: b, action: [log_it]}}
"""


def test_initial_and_memory_may_have_actions_and_several_targets() -> None:
    chart = parse_chart(DEFAULTS)
    assert (chart["r"].initial, chart["r"].initial_actions) == (("b", "d"), (CallAction("open"),))
    assert (chart["h"].memory, chart["h"].memory_actions) == (("b",), (CallAction("log_it"),))
    assert hash_of(DEFAULTS.replace("action: open", "action: close")) != chart.hash


def test_what_is_entered_by_default_can_be_active_together() -> None:
    with pytest.raises(ChartError) as caught:
        parse_chart(DEFAULTS.replace("[b, d]", "[b, a]").replace("target: b,", "target: [c, d],"))
    codes = [(found.code, found.position.line) for found in caught.value.diagnostics]
    assert codes == [("illegal-target", 6), ("illegal-target", 12)]


SISMIC = """
statechart:
  name: lamp
  preamble: |
    count = 0
  root state:
    name: root
    on entry: count = 1
    initial: off
    states:
    - name: off
      transitions:
      - event: switch
        guard: count < 3
        target: on
        action: |
          count += 1
          send('lit', n=count)
    - name: on
      contract:
      - always: count > 0
      transitions:
      - {event: switch, guard: is_ready, target: off, action: [log_it]}
      - {event: tick, guard: true}
"""


def test_a_plain_sismic_chart_is_code_when_trusted() -> None:
    chart = parse_chart(SISMIC, trusted=True)
    assert chart.has_code
    assert chart.preamble == "count = 0\n"
    first = chart["off"].transitions[0]
    assert first.guard == CodeGuard("count < 3")
    assert first.actions == (CodeAction("count += 1\nsend('lit', n=count)"),)
    assert chart["on"].contract.always == (CodeGuard("count > 0"),)
    assert chart["root"].on_entry == (CodeAction("count = 1"),)


def test_trusted_lists_and_booleans_stay_this_languages() -> None:
    first, second = parse_chart(SISMIC, trusted=True)["on"].transitions
    assert first.guard == CodeGuard("is_ready")
    assert first.actions == (CallAction("log_it"),)
    assert second.guard == Constant(True)


def hash_of(text: str) -> str:
    return parse_chart(text).hash


BASE = (
    "statechart: {name: t, root state: {name: r, transitions: [{event: E, guard: a and b, action: x}], after: {2s: r}}}"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a and b", "(a) and (b)"),
        ("event: E", "event: [E]"),
        ("action: x", "action: [x()]"),
        ("2s", "2000ms"),
        ("{2s: r}", "{2s: [{target: [r]}]}"),
        ("name: t", "description: changed, name: t"),
        ("event: E", "description: changed, event: E"),
        ("event: E", "priority: 0, event: E"),
    ],
)
def test_spelling_and_descriptions_do_not_change_the_hash(old: str, new: str) -> None:
    assert old in BASE
    assert hash_of(BASE.replace(old, new)) == hash_of(BASE)
    assert hash_of("\n# comment\n" + BASE) == hash_of(BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a and b", "b and a"),
        ("a and b", "a"),
        ("event: E", "event: F"),
        ("event: E", "internal: true, event: E"),
        ("event: E", "priority: 1, event: E"),
        ("action: x", "action: [x, x]"),
        ("action: x", "action: x(n=null)"),
        ("2s", "3s"),
        ("{2s: r}", "{2s: {target: r, on restore: restart}}"),
        ("name: t", "version: 2, name: t"),
        ("name: r,", "name: r, tags: [x],"),
        ("name: r,", "name: r, output: false,"),
        ("name: r,", "name: r, contract: [{before: x}],"),
    ],
)
def test_every_change_of_meaning_changes_the_hash(old: str, new: str) -> None:
    assert old in BASE
    assert hash_of(BASE.replace(old, new)) != hash_of(BASE)


def test_literals_that_are_alike_have_hashes_of_their_own() -> None:
    literals = ["null", "false", "0", "0.5", "''", "[]", "{}", "true", "1", "'1'", "[null]"]
    hashes = {hash_of(BASE.replace("action: x", f'action: "x(n={literal})"')) for literal in literals}
    assert len(hashes) == len(literals)


def test_a_thousand_states_are_read_in_one_pass() -> None:
    rows = "".join(
        f"    - {{name: s{n}, transitions: [{{event: E{n}, target: s{(n + 1) % 1000}, guard: g(n={n})}}]}}\n"
        for n in range(1000)
    )
    chart = parse_chart(f"statechart:\n  name: t\n  root state:\n    name: r\n    initial: s0\n    states:\n{rows}")
    assert len(chart.states) == 1001
    assert chart["s999"].transitions[0].targets == ("s0",)
    assert chart["s999"].position.line == 1006


def test_a_chart_can_be_pickled_and_is_its_own_copy(full: Chart) -> None:
    again = pickle.loads(pickle.dumps(full))
    assert again is not full
    assert (again.hash, list(again), again.transitions) == (full.hash, list(full), full.transitions)
    assert again.marks == full.marks
    assert copy.deepcopy(full) is full
    with pytest.raises(TypeError):
        again.states["x"] = full["idle"]


def nested(levels: int, leaf: str) -> str:
    """`levels` states around one with the keys of `leaf`."""
    around = "".join(f"{{name: s{level}, initial: s{level + 1}, states: [" for level in range(levels))
    return f"statechart: {{name: t, root state: {around}{{name: s{levels}, {leaf}}}{']}' * levels}}}"


def deep_down(frames: int, text: str) -> Chart:
    return parse_chart(text) if frames == 0 else deep_down(frames - 1, text)


@pytest.mark.parametrize(
    "text",
    [
        nested(98, "always: {guard: '" + "(" * 23 + "a" + ")" * 23 + "'}"),
        nested(98, "always: {guard: '" + "not " * 23 + "a'}"),
        nested(98, "always: {guard: 'a(x=" + "[" * 23 + "]" * 23 + ")'}"),
        nested(0, "meta: {a: " + "[" * 196 + "]" * 196 + "}"),
        nested(0, "meta: " + "{a: " * 197 + "1" + "}" * 197),
    ],
    ids=["parentheses", "not", "literal", "list", "mapping"],
)
def test_the_deepest_charts_load_from_a_deep_caller(text: str) -> None:
    chart = deep_down(150, text)
    assert chart_is_whole(chart)


def chart_is_whole(chart: Chart) -> bool:
    """Everything that walks over a chart reaches its end."""
    check_chart(chart, BoundNames())
    return bool(to_sismic_yaml(chart)) and len(from_statechart(to_statechart(chart)).states) == len(chart.states)
