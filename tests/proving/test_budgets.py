"""Budgets end cycles only where they are counted and not refilled: compared with walks whose budgets are counted."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rawko.chart import parse_chart
from rawko.proving import Bounds, ControlSystem, Verdict, check_properties, explore
from rawko.proving.budgets import Budget, Spending
from rawko.proving.graph.termination import Step, endless_cycle

CHART = """
statechart:
  name: tries
  root state:
    name: tries
    initial: working
    states:
      - name: working
        invoke:
          id: work
          src: work
          on done:
            - {guard: is_finished, target: done}
            - {target: working, action: begin_anew}
          on error:
            - {guard: has_tries_left, target: working, action: count_try}
            - {target: LAST}
      - {name: done, type: final}
"""
TRIES = Budget("has_tries_left", True, frozenset({"count_try"}))
TURNS = Budget("is_finished", False, frozenset({"begin_anew"}))
REFILLED = Budget("has_tries_left", True, frozenset({"count_try"}), frozenset({"begin_anew"}))


@pytest.mark.parametrize(
    ("last", "budgets", "verdict"),
    [
        ("done", (TURNS, TRIES), Verdict.PROVED),
        ("done", (TURNS, REFILLED), Verdict.PROVED),  # refilled finitely often
        ("done", (TRIES,), Verdict.UNDETERMINED),
        ("done", (TURNS,), Verdict.UNDETERMINED),
        ("done", (TURNS, Budget("has_tries_left", False, frozenset({"count_try"}))), Verdict.UNDETERMINED),
        ("done", (TURNS, Budget("has_tries_left", True, frozenset({"begin_anew"}))), Verdict.UNDETERMINED),
        ("working", (TURNS, TRIES), Verdict.UNDETERMINED),  # the answer that ends the budget leads round, too
        ("working", (TURNS, Budget("has_tries_left")), Verdict.PROVED),  # believed, wherever it is asked
    ],
)
def test_a_budget_ends_what_it_counts(last: str, budgets: tuple[Budget, ...], verdict: Verdict) -> None:
    found = explore(ControlSystem(parse_chart(CHART.replace("LAST", last)), Bounds(budgets=budgets)))
    (finding,) = check_properties(found, ["cycles"])
    assert finding.verdict is verdict, finding.text


ROUND = """
statechart:
  name: queue
  root state:
    name: queue
    initial: idle
    states:
      - {name: idle, transitions: [{event: GO, target: taking, action: fill}]}
      - name: taking
        always: [{guard: has_more, target: taking, action: take_next}, {target: idle}]
"""


@pytest.mark.parametrize(
    ("counted", "refilled", "verdict"),
    [("take_next", "fill", Verdict.PROVED), ("fill", "", Verdict.UNDETERMINED), ("take_next", "take_next", None)],
)
def test_a_round_of_eventless_transitions_is_counted_alone(
    counted: str, refilled: str, verdict: Verdict | None
) -> None:
    budget = Budget("has_more", True, frozenset({counted}), frozenset({refilled} - {""}))
    found = explore(ControlSystem(parse_chart(ROUND), Bounds(budgets=(budget,))))
    (finding,) = check_properties(found, ["cycles"])
    assert finding.verdict is (verdict or Verdict.UNDETERMINED), finding.text


def test_the_end_of_an_actor_that_asks_a_person_is_a_persons_event() -> None:
    chart = parse_chart(CHART.replace("LAST", "done"))
    bounds = Bounds(budgets=(TRIES,), person_actors=frozenset({"work"}))
    (finding,) = check_properties(explore(ControlSystem(chart, bounds)), ["cycles"])
    assert finding.verdict is Verdict.PROVED


spendings = st.builds(Spending, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
steps = st.lists(st.builds(Step, st.integers(0, 2), st.integers(0, 2), spendings), min_size=1, max_size=5)


IN_TURN = [
    Step(0, 2, Spending(0, 3, 0)),
    Step(2, 0, Spending(2, 0, 1)),
    Step(2, 0, Spending(3, 0, 2)),
]
"""Each way back refills one budget and asks the other: in turn they go on for ever, if budgets are larger than 2."""


@given(steps)
@example(IN_TURN)
def test_a_way_is_endless_where_budgets_that_are_really_counted_let_it_be(edges: list[Step]) -> None:
    assert (endless_cycle(3, edges) is not None) == any(goes_on(edges, start) for start in range(3))


def goes_on(edges: list[Step], start: int, budget: int = 6) -> bool:
    """Whether some way from a state returns to the same place with no less in any budget: counted out, by search.

    A budget lets itself be asked as long as something is left; a count takes one away, down to nothing, and a refill
    makes it full. A cycle in the product is an endless way.
    """
    first = (start, budget, budget)
    following: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    waiting = [first]
    while waiting:
        here = waiting.pop()
        if here in following:
            continue
        following[here] = []
        for edge in edges:
            if edge.source != here[0]:
                continue
            left = [after(here[1 + place], edge.spending, 1 << place, budget) for place in range(2)]
            if min(left) >= 0:
                following[here].append((edge.target, left[0], left[1]))
        waiting += following[here]
    while ended := [here for here, others in following.items() if not any(one in following for one in others)]:
        for here in ended:
            del following[here]
    return bool(following)


def after(left: int, spending: Spending, bit: int, full: int) -> int:
    if spending.asked & bit and left == 0:
        return -1
    if spending.refilled & bit:
        return full
    return max(left - 1, 0) if spending.counted & bit else left
