"""Each built-in property: proved on a sound chart, refuted with a shortest way on one that is broken in that place."""

from __future__ import annotations

import pytest

from rawko.chart import find_chart, load_chart, parse_chart, shipped_charts
from rawko.proving import PROPERTIES, Bounds, ControlSystem, Finding, Verdict, check_properties, explore, replay
from rawko.proving.bounds import NO_BOUNDS, bounds_beside, read_bounds
from rawko.proving.budgets import Budget
from rawko.proving.exploring.exploration import Exploration
from rawko.proving.naming import unknown_names

SOUND = """
statechart:
  name: worker
  events:
    GO: {description: A person gives a task}
    CANCEL: {description: A person stops it}
  root state:
    name: worker
    initial: idle
    transitions:
      - {event: CANCEL, target: cancelled}
    states:
      - name: idle
        transitions:
          - {event: GO, target: working}
      - name: working
        invoke:
          id: work
          src: work
          timeout: 10s
          on done: {target: done}
          on error: [{guard: has_tries_left, target: waiting}, {target: failed}]
      - name: waiting
        after:
          5s: working
      - {name: done, type: final}
      - {name: failed, type: final}
      - {name: cancelled, type: final}
"""
BOUNDS = Bounds(budgets=(Budget("has_tries_left"),))


def explored(text: str, bounds: Bounds = BOUNDS, limit: int = 1000) -> Exploration:
    return explore(ControlSystem(parse_chart(text), bounds), limit=limit)


def finding(text: str, name: str, bounds: Bounds = BOUNDS) -> Finding:
    found = explored(text, bounds)
    (only,) = check_properties(found, [name])
    if only.way:
        assert replay(found.system, only.way) == ""
    return only


def test_all_is_proved_of_a_sound_chart() -> None:
    found = explored(SOUND)
    assert [f.verdict for f in check_properties(found)] == [Verdict.PROVED] * 6
    assert len(found) == 6


BROKEN = [
    ("reachable", "{event: GO, target: working}", "{event: GO, target: done}", 0),
    ("end", "initial: idle\n    transitions:\n      - {event: CANCEL, target: cancelled}", "initial: idle", -1),
    ("stuck", "on done: {target: done}", "on done: {target: lost}", 3),
    ("cycles", "{guard: has_tries_left, target: waiting}, {target: failed}", "{target: waiting}", -1),
    (
        "errors",
        "on error: [{guard: has_tries_left, target: waiting}, {target: failed}]",
        "on error: {guard: has_tries_left, target: waiting}",
        3,
    ),
    ("cancel", "{event: CANCEL, target: cancelled}", "{event: CANCEL, target: idle}", -1),
]
LOST = "      - {name: done, type: final}\n"


@pytest.mark.parametrize(("name", "old", "new", "steps"), BROKEN, ids=[row[0] for row in BROKEN])
def test_each_property_is_refuted_where_the_chart_breaks_it(name: str, old: str, new: str, steps: int) -> None:
    assert old in SOUND
    broken = SOUND.replace(old, new)
    if "lost" in new:
        broken = broken.replace(
            "      - {event: CANCEL, target: cancelled}\n",
            "      - {event: CANCEL, guard: not in_state('lost'), target: cancelled}\n",
        )
        broken = broken.replace(LOST, f"      - name: lost\n{LOST}")
    if name == "end":
        broken = broken.replace("{target: failed}", "{target: lost}").replace(LOST, f"      - name: lost\n{LOST}")
    found = finding(broken, name)
    assert found.verdict is Verdict.REFUTED, found.text
    if steps >= 0:
        assert len(found.way) == steps


def test_a_cycle_with_guards_is_undetermined_until_one_is_named_as_a_budget() -> None:
    found = finding(SOUND, "cycles", Bounds())
    assert found.verdict is Verdict.UNDETERMINED
    assert "has_tries_left" in found.text
    assert found.round == (("worker", "working"), ("worker", "waiting"))


def test_an_accepted_failure_keeps_its_way_and_gives_its_reason() -> None:
    bounds = Bounds(accepted={"cycles": "the caller stops it"})
    found = finding(SOUND, "cycles", bounds)
    assert found.verdict is Verdict.ACCEPTED
    assert "the caller stops it" in found.text


def test_an_exploration_cut_short_proves_nothing_that_needs_all_of_it() -> None:
    found = explored(SOUND, limit=2)
    assert not found.is_complete
    assert Verdict.PROVED not in {f.verdict for f in check_properties(found)}


TIMERS = """
statechart:
  name: clocks
  root state:
    name: clocks
    initial: both
    states:
      - name: both
        after:
          2s: late
          1s: early
      - {name: late, type: final}
      - {name: early, type: final}
"""


def test_of_two_timers_set_together_the_shorter_comes_first() -> None:
    found = finding(TIMERS, "reachable")
    assert found.verdict is Verdict.REFUTED
    assert "'late'" in found.text and "'early'" not in found.text


ENDLESS = """
statechart:
  name: endless
  root state:
    name: endless
    initial: a
    states:
      - {name: a, transitions: [{event: E, target: b}]}
      - {name: b, always: [{guard: g, target: c}]}
      - {name: c, always: [{guard: not h, target: b}]}
"""


def test_an_eventless_cycle_is_found_with_the_answers_that_start_it() -> None:
    found = finding(ENDLESS, "stuck")
    assert found.verdict is Verdict.REFUTED
    assert dict(found.way[-1][1].answers) == {"g": True, "h": False}
    cycle = finding(ENDLESS, "cycles")
    assert (cycle.verdict, cycle.way) == (Verdict.REFUTED, found.way)
    assert "a macrostep begins that never ends" in cycle.text


def test_one_guard_has_one_answer_on_the_same_data() -> None:
    text = ENDLESS.replace("not h", "not g")  # b is left only where g is true: c never goes back in the same step
    assert finding(text, "stuck").verdict is Verdict.PROVED


@pytest.mark.parametrize("name", shipped_charts())
def test_every_property_is_proved_of_every_shipped_chart(name: str) -> None:
    path = find_chart(name)
    beside = bounds_beside(path)
    system = ControlSystem(load_chart(path), NO_BOUNDS if beside is None else read_bounds(beside))
    assert list(unknown_names(system, PROPERTIES)) == []
    found = explore(system)
    assert found.is_complete
    verdicts = {finding.property: finding for finding in check_properties(found)}
    for one in verdicts.values():
        if one.property == "contracts":  # their conditions read the data of a run
            assert one.verdict is Verdict.VOID
            continue
        assert one.verdict in ACCEPTED.get((name, one.property), {Verdict.PROVED}), one.text


ACCEPTED = {
    ("judge", "cancel"): {Verdict.VOID},  # a child machine: its caller is cancelled, and stops it
    ("node_engine", "cancel"): {Verdict.VOID},  # its event is STOP_REQUESTED
    ("node_engine", "cycles"): {Verdict.ACCEPTED},  # bounded by the caller's budgets alone
}
