"""What becomes of a machine whose chart has changed: where it stands, what waits, what it knows, and why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from sismic.clock import SimulatedClock

from rawko.chart.definition import Chart
from rawko.interpreter import Bindings, Interpreter, Migrated, MigrationError, SnapshotError, append, assign, migrate
from tests.interpreter.tables import chart_of


class Order(BaseModel):
    total: int = 0
    retries: int | None = 3
    parts: list[int] = []


def bindings() -> Bindings:
    found = Bindings()
    found.add("actor", "fetch", None)
    found.add("actor", "mail", None)
    found.add("actor", "third", None)
    found.add("context", "Order", Order)
    found.add("guard", "is_large", lambda context, event: context.total > 10)
    found.add("guard", "breaks", lambda context, event: 1 // 0)
    found.add("guard", "is_paid", lambda context, event: context.get("is_paid", False))
    found.add("action", "split_total", lambda context, event: assign(parts=[context.total, 1]))
    found.add("action", "add_part", lambda context, event: append("parts", int(event.data["from"])))
    found.add("action", "fails", lambda context, event: int("x"))
    found.add("action", "speaks", lambda context, event: "a text")
    found.add("delay", "soon", lambda context, event: context.total * 1000)
    found.add("input", "order_no", lambda context, event: {"total": context.total, "version": event.data["to"]})
    return found


OLD = chart_of(
    """
name: order
initial: draft
states:
- {name: draft, transitions: [{event: GO, target: triage}, {event: WORK, target: b}, {event: BACK, target: h}]}
- name: triage
  after: {10s: late, 1m: late}
  invoke: [{src: fetch, id: get, timeout: 20s, on done: draft}, {src: mail, on done: draft}]
- {name: late}
- name: work
  initial: a
  transitions: [{event: STOP, target: draft}]
  states: [{name: a}, {name: b}, {name: h, type: deep history}]
""",
    version="1",
)
STATES = """
name: order
initial: draft
states:
- {name: draft}
- {name: late}
"""


def stood(*events: str, input: dict[str, Any] | None = None, chart: Chart = OLD) -> dict[str, Any]:
    machine = Interpreter(chart, bindings(), input=input or {"total": 5}, clock=SimulatedClock())
    machine.start()
    for event in events:
        machine.send(event)
    machine.advance(4)
    return machine.snapshot()


def moved(snapshot: dict[str, Any], root: str, rules: str = "[]", now: float | None = None, **keys: Any) -> Migrated:
    keys = {"version": "2", "migrate": rules, **keys}
    return migrate(snapshot, OLD, chart_of(root, **keys), bindings(), now=now)


def why(*given: Any, **keys: Any) -> tuple[str, ...]:
    with pytest.raises(MigrationError) as caught:
        moved(*given, **keys)
    return caught.value.problems


# ---------------------------------------------------------------- where it stands

TRIAGED = STATES + "- {name: big}\n- {name: small}\n"
REVIEW = (
    STATES
    + """\
- name: review
  initial: x
  states: [{name: x}, {name: y}]
"""
)
REGIONS = (
    STATES
    + """\
- name: work
  parallel states:
  - {name: first, initial: a, states: [{name: a}, {name: b}, {name: h, type: deep history}]}
  - {name: second, initial: p, states: [{name: p, initial: q, states: [{name: q}]}]}
"""
)


@pytest.mark.parametrize(
    ("events", "root", "rules", "states"),
    [
        (["GO"], TRIAGED, "{from: 1, states: {triage: small}}", ["order", "small"]),
        (["GO"], TRIAGED, "{from: 1, states: {triage: [{guard: is_large, target: big}, small]}}", ["order", "small"]),
        (["GO"], TRIAGED, "{from: 1, states: {triage: [{guard: not is_large, target: big}, small]}}", ["order", "big"]),
        (["GO"], TRIAGED, "{from: 1, states: {triage: [{guard: in_state('triage'), target: big}]}}", ["order", "big"]),
        (["GO"], TRIAGED, "[{from: 1, states: {triage: old}}, {from: 1.5, states: {old: big}}]", ["order", "big"]),
        (["GO"], REVIEW, "{from: 1, states: {triage: review}}", ["order", "review", "x"]),
        (["GO"], REVIEW, "{from: 1, states: {triage: y}}", ["order", "review", "y"]),
        (["WORK"], STATES, "{from: 1, states: {work: late}}", ["order", "late"]),
        (["WORK"], REVIEW, "{from: 1, states: {work: late, b: y}}", ["order", "review", "y"]),
        (["WORK"], REGIONS, "[]", ["order", "work", "first", "b", "second", "p", "q"]),
        (["WORK"], STATES + "- {name: b}\n", "[]", ["order", "b"]),
        ([], STATES.replace("name: order", "name: shop"), "[]", ["shop", "draft"]),
    ],
    ids=[
        "removed", "split", "split otherwise", "by state", "two versions", "by default", "into a child", "by ancestor",
        "the child's own rule", "regions around it", "out of its parent", "another root",
    ],
)  # fmt: skip
def test_a_machine_stands_where_the_rules_say(events: list[str], root: str, rules: str, states: list[str]) -> None:
    found = moved(stood(*events), root, rules)
    assert list(found.states) == states
    assert found.snapshot["configuration"] == states


CLASH = """
name: order
initial: draft
states: [{name: draft}, {name: late}, {name: one, initial: a, states: [{name: a}, {name: b}]}]
"""
TWO = chart_of(
    """
name: order
parallel states:
- {name: left, initial: a, states: [{name: a}]}
- {name: right, initial: b, states: [{name: b}]}
""",
    version="1",
)


@pytest.mark.parametrize(
    ("events", "root", "rules", "problem"),
    [
        (["GO"], TRIAGED, "[]", "state 'triage' is not in the chart any more; say what stands in its place: migrate: "),
        (["GO"], TRIAGED, "{from: 3}", "the chart has no migration from version '1'; it has those from: '3'"),
        (["GO"], TRIAGED, "[{from: 1, states: {triage: hug}}, {from: 1.5}]", "state 'triage' leads to 'hug', which"),
        (["GO"], TRIAGED, "{from: 1, states: {triage: [{guard: is_large, target: big}]}}", "no guard of state"),
        (["GO"], TRIAGED, "{from: 1, states: {triage: [{guard: breaks, target: big}]}}", "ZeroDivisionError"),
        (["GO"], TRIAGED, "{from: 1, states: {triage: [{guard: is_lrge, target: big}]}}", "did you mean 'is_large'?"),
        (["GO"], STATES + "- {name: triag}\n", "[]", "is not in the chart any more (is it 'triag' now?)"),
        (["GO"], STATES + "- {name: end, type: final}\n", "{from: 1, states: {triage: end}}", "a final state"),
        (["GO"], STATES + "- {name: c, states: [{name: d}]}\n", "{from: 1, states: {triage: c}}", "which child"),
        (["GO"], STATES + "- {name: triage, type: shallow history}\n", "[]", "is a history state, which"),
    ],
)  # fmt: skip
def test_what_has_no_place_is_told(events: list[str], root: str, rules: str, problem: str) -> None:
    (found,) = why(stood(*events), root, rules)
    assert problem in found


def test_guards_of_states_in_which_the_machine_is_not_do_not_matter() -> None:
    rules = "{from: 1, states: {triage: [{guard: breaks, target: big}], work: [{guard: is_large, target: big}]}}"
    assert moved(stood(), TRIAGED, rules).states == ("order", "draft")
    (found,) = why(stood("GO"), TRIAGED, rules)
    assert "ZeroDivisionError" in found
    # One around the active state has a say where that has no rule of its own.
    own = "{from: 1, states: {b: late, work: [{guard: is_large, target: big}]}}"
    assert moved(stood("WORK"), TRIAGED, own).states == ("order", "late")
    (found,) = why(stood("WORK"), TRIAGED, own.replace("b: late, ", ""))
    assert "no guard of state 'work' is true" in found


def test_each_name_that_is_not_bound_is_a_reason_of_its_own() -> None:
    found = why(stood(), STATES + "- {name: more, on entry: [unheard_of, unseen]}\n")
    assert len(found) == 2 and all("is not bound; " in line for line in found)


def test_two_states_that_would_share_one_child_are_told() -> None:
    snapshot = stood(chart=TWO)
    with pytest.raises(MigrationError) as caught:
        migrate(snapshot, TWO, chart_of(CLASH, version="2"), bindings())
    assert caught.value.problems == (
        "'a' and 'b' would be active together in 'one', which has one active child (from 'a', 'b')",
    )


def test_all_reasons_are_told_at_once() -> None:
    with pytest.raises(MigrationError) as caught:
        migrate(stood(chart=TWO), TWO, chart_of(STATES, version="2"), bindings())
    assert len(caught.value.problems) == 2
    assert str(caught.value).startswith("a machine of chart 'case', version '1', cannot go on in version '2':\n  - ")


# ---------------------------------------------------------------- what waits

WAITS = (
    STATES
    + """\
- name: triage
  after: {TIMERS}
  invoke: [INVOKES]
"""
)


def waits(timers: str, invokes: str, now: float | None = None) -> Migrated:
    return moved(stood("GO"), WAITS.replace("{TIMERS}", timers).replace("[INVOKES]", invokes), now=now)


@pytest.mark.parametrize(
    ("timers", "due"),
    [
        ("{10s: late, 1m: late}", {"after.triage.0": 10, "after.triage.1": 60}),
        ("{1m: late, 10s: late}", {"after.triage.1": 10, "after.triage.0": 60}),
        ("{1m: late}", {"after.triage.0": 60}),
        ("{1m: late, 20s: late}", {"after.triage.0": 60, "after.triage.1": 10}),
        ("{5m: late, 1m: late, 7m: late, 10s: late}", {
            "after.triage.3": 10, "after.triage.1": 60, "after.triage.0": 400, "after.triage.2": 520,
        }),
        ("{10s: late, 1m: late, soon: [{target: late, on restore: remaining}]}", {
            "after.triage.0": 10, "after.triage.1": 60, "after.triage.2": 9,
        }),
    ],
    ids=["as they were", "in another order", "one is gone", "one has another delay", "two are new", "a bound delay"],
)  # fmt: skip
def test_timers_keep_their_times_and_new_ones_begin(timers: str, due: dict[str, float]) -> None:
    found = waits(timers, "[{src: fetch, id: get, on error: late}, {src: mail, on error: late}]", now=100)
    assert {row[2]: row[0] for row in found.snapshot["timers"] if not row[9]} == due


@pytest.mark.parametrize(
    ("invokes", "ids", "notes"),
    [
        ("[{src: fetch, id: get}, {src: mail}]", {"get": 1, "mail": 2}, ()),
        ("[{src: fetch, id: got}, {src: mail}]", {"got": 1, "mail": 2}, ()),
        ("[{src: mail, id: get}, {src: fetch, id: mail}]", {"mail": 1, "get": 2}, ()),
        ("[{src: mail}]", {"mail": 2}, ("invocation 'get' is not in the chart any more: it is stopped",)),
        (
            "[{src: fetch, id: get}, {src: mail}, {src: fetch, id: more, input: order_no, timeout: soon}]",
            {"get": 1, "mail": 2, "more": 3},
            ("invocation 'more' of state 'triage' begins",),
        ),
    ],
    ids=["as they were", "another id", "ids that changed places", "one is gone", "one is new"],
)
def test_invocations_go_on_end_and_begin(invokes: str, ids: dict[str, int], notes: tuple[str, ...]) -> None:
    found = waits("{10s: late, 1m: late}", invokes.replace("}", ", on error: late}"))
    assert {one["id"]: one["number"] for one in found.snapshot["invocations"]} == ids
    assert found.notes == notes
    limits = {row[3]: row[9] for row in found.snapshot["timers"] if row[9]}
    first = next((id for id, number in ids.items() if number == 1), None)
    assert limits == ({} if first is None else {f"error.invoke.{first}": 1})
    if "more" in ids:
        more = found.snapshot["invocations"][-1]
        assert (more["attempt"], more["input"], more["timeout"]) == (0, {"total": 5, "version": "2"}, 5)


def test_an_invocation_that_a_migration_begins_starts_with_the_machine_whatever_its_policy_says() -> None:
    chart = chart_of(STATES + "- {name: triage, invoke: {src: third, id: new, on restore: fail, on error: late}}\n")
    found = migrate(stood("GO"), OLD, chart, bindings())
    machine = Interpreter(chart, bindings(), clock=SimulatedClock())
    step = machine.restore(found.snapshot)
    assert [(effect.id, effect.attempt, effect.is_resumed) for effect in step.effects] == [("new", 1, False)]  # type: ignore[union-attr]


def test_an_invocation_that_had_ended_does_not_begin_again() -> None:
    machine = Interpreter(OLD, bindings(), input={"total": 5}, clock=SimulatedClock())
    machine.start()
    machine.send("GO")
    found = machine.snapshot()
    found["invocations"] = found["invocations"][1:]
    found["timers"] = [row for row in found["timers"] if not row[9]]
    again = moved(found, WAITS.replace("{TIMERS}", "{10s: late, 1m: late}").replace(
        "[INVOKES]", "[{src: fetch, id: get, on error: late}, {src: mail, on error: late}]"
    ))  # fmt: skip
    assert [one["id"] for one in again.snapshot["invocations"]] == ["mail"]


def test_an_end_that_is_queued_is_that_of_the_renamed_invocation() -> None:
    snapshot = stood("GO")
    snapshot["external"] = [[4.0, 9, {"id": "get", "number": 1, "is_end": True}, "done.invoke.get", {"output": 1}]]
    root = WAITS.replace("{TIMERS}", "{10s: late}").replace(
        "[INVOKES]", "{id: got, src: fetch, on done: late, on error: late}"
    )
    found = moved(snapshot, root)
    chart = chart_of(root, version="2")
    machine = Interpreter(chart, bindings(), clock=SimulatedClock())
    machine.restore(found.snapshot)
    machine.execute()
    assert "late" in machine.configuration


def test_a_machine_goes_on_by_itself_where_its_new_state_says_so() -> None:
    root = STATES + "- {name: triage, always: {guard: is_large, target: late}}\n"
    found = moved(stood("GO", input={"total": 50}), root)
    machine = Interpreter(chart_of(root, version="2"), bindings(), clock=SimulatedClock())
    machine.restore(found.snapshot)
    machine.execute()
    assert "late" in machine.configuration


def test_a_state_may_handle_the_migration() -> None:
    root = STATES + "- {name: triage, transitions: [{event: rawko.migrate, target: late}]}\n"
    chart = chart_of(root, version="2")
    machine = Interpreter(chart, bindings(), clock=SimulatedClock())
    machine.restore(moved(stood("GO"), root).snapshot)
    assert machine.execute_once().event.data == {"from": "1", "to": "2"}  # type: ignore[union-attr]
    assert "late" in machine.configuration


# ---------------------------------------------------------------- history

HISTORY = (
    STATES
    + """\
- name: work
  initial: a
  states: [STATES, {name: HISTORY}]
"""
)


@pytest.mark.parametrize(
    ("states", "history", "rules", "held"),
    [
        ("{name: a}, {name: b}", "h, type: deep history", "[]", {"h": ["b"]}),
        ("{name: a}, {name: c}", "k, type: deep history", "{from: 1, states: {b: c, h: k}}", {"k": ["c"]}),
        ("{name: a}, {name: b, initial: b1, states: [{name: b1}]}", "h, type: deep history", "[]", {"h": ["b1"]}),
        ("{name: a}, {name: b, initial: b1, states: [{name: b1}]}", "h, type: shallow history", "[]", {"h": ["b"]}),
        ("{name: a}, {name: c}", "h, type: deep history", "{from: 1, states: {b: late}}", {}),
        ("{name: a}, {name: b}", "k, type: deep history", "[]", {}),
    ],
    ids=["as it was", "renamed", "deeper", "shallow now", "out of its parent", "gone"],
)  # fmt: skip
def test_history_is_kept_or_forgotten_and_told(
    states: str, history: str, rules: str, held: dict[str, list[str]]
) -> None:
    found = moved(stood("WORK", "STOP"), HISTORY.replace("STATES", states).replace("HISTORY", history), rules)
    assert found.snapshot["history"] == held
    assert bool(found.notes) == (not held)


def test_a_remembered_state_without_a_place_is_a_problem() -> None:
    (problem,) = why(
        stood("WORK", "STOP"), HISTORY.replace("STATES", "{name: a}").replace("HISTORY", "h, type: deep history")
    )
    assert problem.startswith("state 'b' is not in the chart any more")


# ---------------------------------------------------------------- what it knows


@pytest.mark.parametrize(
    ("rules", "keys", "context"),
    [
        ("{from: 1}", {}, {"total": 5}),
        ("{from: 1, action: {assign: {retries: 0}}}", {}, {"total": 5, "retries": 0}),
        ("{from: 1, action: split_total}", {}, {"total": 5, "parts": [5, 1]}),
        ("[{from: 1, action: split_total}, {from: 2.5, action: add_part}]", {}, {"total": 5, "parts": [5, 1, 1]}),
        ("{from: 1}", {"context": "Order"}, {"total": 5, "retries": 3, "parts": []}),
        (
            "{from: 1, action: {assign: {retries: null}}}",
            {"context": "Order"},
            {"total": 5, "retries": None, "parts": []},
        ),
    ],
)
def test_the_context_is_what_the_rules_and_the_model_make_of_it(
    rules: str, keys: dict[str, Any], context: dict[str, Any]
) -> None:
    assert moved(stood(), STATES, rules, **keys).snapshot["context"] == context


def test_a_field_that_the_model_has_no_more_is_dropped_and_told() -> None:
    found = moved(stood(input={"total": 5, "note": "x"}), STATES, "{from: 1}", context="Order")
    assert "note" not in found.snapshot["context"]
    assert found.notes == ("field 'note' is not in the context any more: its value is dropped",)


@pytest.mark.parametrize(
    ("rules", "keys", "problem"),
    [
        ("{from: 1, action: fails}", {}, "action 'fails': ValueError: invalid literal"),
        ("{from: 1, action: speaks}", {}, "accepted in a migration: None, assign(...) and append(...)"),
        ("{from: 1, action: add_part}", {}, "append to 'parts', which is no list"),
        ("{from: 1, action: unheard_of}", {}, "action 'unheard_of' is not bound"),
        ("{from: 1, action: {assign: {total: many}}}", {"context": "Order"}, "total: Input should be a valid integer"),
    ],
)
def test_a_context_that_cannot_be_made_is_told(rules: str, keys: dict[str, str], problem: str) -> None:
    (found,) = why(stood(), STATES, rules, **keys)
    assert problem in found


def test_an_invariant_that_would_not_hold_is_told() -> None:
    (found,) = why(stood("GO"), STATES + "- {name: triage, contract: [{always: is_paid}]}\n")
    assert found == "the invariant is_paid of state 'triage' would not hold"


# ---------------------------------------------------------------- and else


def test_a_snapshot_of_the_present_chart_is_as_it_is() -> None:
    snapshot = stood("GO")
    assert migrate(snapshot, OLD, OLD, bindings()).snapshot == snapshot


def test_a_snapshot_of_a_third_chart_is_refused() -> None:
    with pytest.raises(SnapshotError, match="taken of a chart with hash"):
        migrate(stood(chart=TWO), OLD, chart_of(STATES), bindings())


def test_a_machine_that_has_ended_is_told() -> None:
    chart = chart_of("name: r\ninitial: e\nstates: [{name: e, type: final}]")
    with pytest.raises(MigrationError, match="it has ended"):
        migrate(stood(chart=chart), chart, chart_of(STATES), bindings())


def test_a_migration_changes_nothing_that_it_was_given() -> None:
    snapshot = stood("GO")
    before = repr(snapshot)
    moved(snapshot, TRIAGED, "{from: 1, states: {triage: small}, action: split_total}")
    assert repr(snapshot) == before


@pytest.mark.parametrize("make", [lambda: stood("GO"), lambda: stood("WORK"), lambda: stood()])
def test_a_chart_of_equal_meaning_but_another_version_takes_over_all(make: Callable[[], dict[str, Any]]) -> None:
    new = chart_of(STATES.replace("- {name: draft}\n- {name: late}\n", _BODY), version="2")
    snapshot = make()
    found = migrate(snapshot, OLD, new, bindings())
    first = [snapshot["now"], 0, "event", "rawko.migrate", {"from": "1", "to": "2"}]
    assert found.snapshot == {**snapshot, "chart": {"name": "case", "hash": new.hash}, "external": [first]}
    assert found.notes == ()


_BODY = """\
- {name: draft, transitions: [{event: GO, target: triage}, {event: WORK, target: b}, {event: BACK, target: h}]}
- name: triage
  after: {10s: late, 1m: late}
  invoke: [{src: fetch, id: get, timeout: 20s, on done: draft}, {src: mail, on done: draft}]
- {name: late}
- name: work
  initial: a
  transitions: [{event: STOP, target: draft}]
  states: [{name: a}, {name: b}, {name: h, type: deep history}]
"""
