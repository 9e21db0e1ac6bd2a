"""Charts to sismic and back: stock sismic loads what is exported and runs what it can express."""

from __future__ import annotations

from typing import Any

import pytest
from sismic.interpreter import Interpreter
from sismic.io import export_to_yaml, import_from_yaml
from sismic.model import BasicState, CompoundState, OrthogonalState, Statechart
from sismic.model import Transition as SismicTransition

from rawko.chart import Chart, from_statechart, losses, lower, parse_chart, to_sismic_yaml, to_statechart
from rawko.chart.definition import CodeGuard
from tests.chart.test_parse import FULL, SISMIC

TWO_REGIONS = """\
statechart:
  name: two
  root state:
    name: r
    initial: p
    states:
    - name: p
      parallel states:
      - name: left
        initial: l1
        states:
        - {name: l1, transitions: [{event: GO, target: l2}]}
        - {name: l2}
        - {name: lh, type: shallow history, memory: l1}
      - name: right
        initial: r1
        states:
        - {name: r1, transitions: [{event: GO, target: r2}, {event: [X, Y], target: out}]}
        - {name: r2}
      transitions:
      - {event: RESET, target: [l2, r2]}
    - {name: out, transitions: [{event: BACK, target: p}]}
"""

ORDERED = """\
statechart:
  name: ordered
  root state:
    name: r
    initial: a
    states:
    - name: a
      on entry: [assign: {count: 1, text: null}, raise: {event: TICK, data: {n: 2, "a b": 3}}]
      transitions:
      - {event: TICK, guard: is_small(limit=context.limit), target: small}
      - {event: TICK, guard: not in_state('a') or false, target: small}
      - {event: TICK, target: big, action: [keep(n=event.n), log: it is big]}
    - {name: small, type: final}
    - {name: big, always: end}
    - {name: end}
"""


def run(statechart: Statechart, *events: str, **context: Any) -> Interpreter:
    interpreter = Interpreter(statechart, initial_context=context)
    interpreter.execute()
    for event in events:
        interpreter.queue(event)
        interpreter.execute()
    return interpreter


def both_roads(chart: Chart) -> list[Statechart]:
    return [to_statechart(chart), import_from_yaml(to_sismic_yaml(chart))]


@pytest.mark.parametrize("road", [0, 1], ids=["lowered", "exported"])
def test_stock_sismic_runs_a_plain_chart(road: int) -> None:
    statechart = both_roads(parse_chart(SISMIC, trusted=True))[road]
    interpreter = run(statechart, "switch", is_ready=True, log_it=lambda: None)
    assert interpreter.configuration == ["root", "on"]
    assert interpreter.context["count"] == 2
    interpreter.queue("switch").execute()
    assert interpreter.configuration == ["root", "off"]


@pytest.mark.parametrize("road", [0, 1], ids=["lowered", "exported"])
def test_stock_sismic_runs_parallel_regions_and_event_lists(road: int) -> None:
    statechart = both_roads(parse_chart(TWO_REGIONS))[road]
    interpreter = run(statechart, "GO")
    assert set(interpreter.configuration) == {"r", "p", "left", "right", "l2", "r2"}
    assert run(statechart, "Y").configuration == ["r", "out"]
    assert set(run(statechart, "X", "BACK").configuration) == {"r", "p", "left", "right", "l1", "r1"}


@pytest.mark.parametrize("road", [0, 1], ids=["lowered", "exported"])
@pytest.mark.parametrize(("is_small", "end"), [(True, []), (False, ["r", "end"])])
def test_the_first_true_guard_wins_in_stock_sismic_too(road: int, is_small: bool, end: list[str]) -> None:
    kept: list[int] = []
    limits: list[int] = []

    def small(limit: int) -> bool:
        limits.append(limit)
        return is_small

    def keep(n: int) -> None:
        kept.append(n)

    statechart = both_roads(parse_chart(ORDERED))[road]
    interpreter = run(statechart, limit=7, is_small=small, keep=keep)
    assert interpreter.configuration == end
    assert (limits, kept) == ([7], [] if is_small else [2])
    assert (interpreter.context["count"], interpreter.context["text"]) == (1, None)


def test_several_targets_become_the_parallel_state() -> None:
    chart = parse_chart(TWO_REGIONS)
    reset = next(each for each in chart.transitions if len(each.targets) == 2)
    (lowered,) = lower(chart).transitions[reset.index]
    assert lowered.target == "p"
    assert [str(each) for each in losses(chart) if "parallel state 'p': " not in each.message] == [
        "<chart>:21:9: lowered: warning: transition of 'p': several targets become 'p'"
    ]


def test_every_transition_has_its_lowered_ones() -> None:
    chart = parse_chart(FULL)
    lowered = lower(chart)
    assert [len(group) for group in lowered.transitions] == [max(1, len(each.events)) for each in chart.transitions]
    known = {id(transition) for transition in lowered.statechart.transitions}
    assert {id(each) for group in lowered.transitions for each in group} == known
    for transition, group in zip(chart.transitions, lowered.transitions, strict=True):
        assert [each.event for each in group] == list(transition.events or (None,))
        assert {each.source for each in group} == {transition.source}


def test_the_export_of_a_full_chart_loads_and_names_what_is_lost() -> None:
    text = to_sismic_yaml(parse_chart(FULL))
    statechart = import_from_yaml(text)
    assert statechart.validate()
    assert set(statechart.states) == set(parse_chart(FULL).states)
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert head[0] == "# Stock sismic does not do as the chart says here:"
    assert "# line 32: timer of 'idle': sismic sets none; send 'after.idle.0' yourself" in head
    assert "# line 50: invoke 'fetch': sismic starts no actors; send its events yourself" in head


def test_a_history_in_a_parallel_state_is_lowered_but_left_out_of_the_export() -> None:
    text = TWO_REGIONS.replace(
        "      transitions:\n", "      - {name: ph, type: deep history}\n      transitions:\n"
    ).replace("target: p}", "target: ph}")
    chart = parse_chart(text)
    assert to_statechart(chart).parent_for("ph") == "p"
    statechart = import_from_yaml(to_sismic_yaml(chart))
    assert "ph" not in statechart.states
    assert statechart.transitions_from("out")[0].target == "p"
    assert "history 'ph' in a parallel state" in to_sismic_yaml(chart)


@pytest.mark.parametrize("text", [SISMIC, TWO_REGIONS.replace(", {event: [X, Y], target: out}", "")])
def test_a_plain_chart_comes_back_the_same(text: str) -> None:
    chart = parse_chart(text.replace("[l2, r2]", "p"), trusted=True)
    plain = parse_chart(text.replace("[l2, r2]", "p").replace("action: [log_it]", "action: log_it()"), trusted=True)
    again = from_statechart(import_from_yaml(to_sismic_yaml(chart)))
    assert list(again.states) == list(chart.states)
    assert again.hash == from_statechart(import_from_yaml(to_sismic_yaml(plain))).hash
    assert [each.targets for each in again.transitions] == [each.targets for each in chart.transitions]


def test_siblings_of_an_imported_chart_stand_in_the_order_of_the_file() -> None:
    imported = import_from_yaml(TWO_REGIONS.replace("[l2, r2]", "p").replace("[X, Y]", "X"))
    assert imported.children_for("p") == ["right", "left"], "sismic's reader registers siblings last first"
    chart = from_statechart(imported)
    assert chart["p"].children == ("left", "right")
    assert list(chart.states) == ["r", "p", "left", "l1", "l2", "lh", "right", "r1", "r2", "out"]


def by_hand() -> Statechart:
    statechart = Statechart("hand")
    statechart.add_state(CompoundState("r", initial="p"), None)
    statechart.add_state(OrthogonalState("p"), "r")
    statechart.add_state(BasicState("q"), "r")
    statechart.add_state(BasicState("left"), "p")
    statechart.add_state(BasicState("right", on_entry="x = 1"), "p")
    statechart.add_transition(SismicTransition("q", "p", event="E", guard="x > 0", priority=2))
    return statechart


def test_a_statechart_built_by_hand_keeps_its_order() -> None:
    chart = from_statechart(by_hand())
    assert chart["r"].children == ("p", "q")
    assert chart["p"].children == ("left", "right")
    assert from_statechart(by_hand(), sibling_order="imported")["p"].children == ("right", "left")
    (transition,) = chart.transitions
    assert (transition.guard, transition.priority, transition.targets) == (CodeGuard("x > 0"), 2, ("p",))
    assert chart.has_code


def test_the_statechart_is_copied() -> None:
    statechart = by_hand()
    chart = from_statechart(statechart)
    statechart.add_state(BasicState("late"), "r")
    statechart.transitions[0].guard = "False"
    assert "late" not in chart
    assert chart.transitions[0].guard == CodeGuard("x > 0")


def test_a_statechart_without_root_is_refused() -> None:
    with pytest.raises(ValueError, match="statechart 'x' has no root state"):
        from_statechart(Statechart("x"))


def test_texts_that_readers_disagree_on_are_quoted() -> None:
    names = ["on", "yes", "1", "0o7", "null", "1:20", "a: b", "- x", "#x", "é", "true", "~", "2024-01-01", "a\u200db"]
    rows = ", ".join(f"{{name: {name!r}}}" for name in names).replace("\\u200d", "\u200d")
    chart = parse_chart(f"statechart: {{name: t, root state: {{name: r, initial: 'on', states: [{rows}]}}}}")
    assert list(from_statechart(import_from_yaml(to_sismic_yaml(chart))).states) == ["r", *names]


def test_sismics_own_writer_takes_a_lowered_chart() -> None:
    assert import_from_yaml(export_to_yaml(to_statechart(parse_chart(FULL)))).root == "root"


def test_the_private_names_that_are_used_still_exist() -> None:
    private = vars(by_hand())
    assert list(private["_states"]) == ["r", "p", "q", "left", "right"]
    assert private["_parent"]["left"] == "p"
    assert private["_children"]["p"] == ["left", "right"]


def test_an_initial_further_inside_becomes_the_child_that_holds_it() -> None:
    chart = parse_chart(
        """
statechart:
  name: c
  root state:
    name: r
    initial: inner
    states: [{name: a}, {name: b, initial: other, states: [{name: other}, {name: inner}]}]
"""
    )
    assert to_statechart(chart).state_for("r").initial == "b"
    assert [each.message for each in losses(chart)] == ["initial of 'r': sismic enters 'b', which holds it, by default"]
