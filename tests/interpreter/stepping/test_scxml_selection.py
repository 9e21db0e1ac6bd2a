"""`selection: scxml` beside a reference: the recommendation's selectTransitions and removeConflictingTransitions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.chart.definition import Chart, Not, Transition
from rawko.chart.formats.scxml import export_scxml, import_scxml
from rawko.chart.formats.xstate import export_xstate
from rawko.chart.formats.yaml_text import yaml_text
from rawko.chart.formats.yaml_writer import write_chart
from rawko.chart.lint.selection import selection_differences
from rawko.chart.sismic_losses import losses
from rawko.interpreter import Bindings, EventlessCycleError, Interpreter, Step
from rawko.interpreter.compiled.structure import descriptor_matches
from rawko.interpreter.running.choices import Choosing, choices_of

CHARTS = int(os.environ.get("RAWKO_FUZZ", "75"))
"""More for a long run by hand."""
EVENTS = ("A", "B", "C.one")
GUARDS = ("g0", "g1", "g2")


class Maker:
    """A random chart: many parallel states, many transitions without a target, on the same few events."""

    def __init__(self, seed: int, selection: str = "scxml") -> None:
        self._random = Random(seed)
        self._count = 0
        self._names: list[str] = []
        root = self._state(0)
        self._moves(root)
        self.text = yaml_text({"statechart": {"name": "m", "selection": selection, "root state": root}})

    def _state(self, depth: int) -> dict[str, Any]:
        name = f"s{self._count}"
        self._count += 1
        self._names.append(name)
        kinds = ("parallel", "parallel", "compound") if depth < 2 else ("compound", "atomic", "atomic", "parallel")
        kind = self._random.choice(kinds) if depth < 4 else "atomic"
        row: dict[str, Any] = {"name": name}
        if kind != "atomic":
            children = [self._state(depth + 1) for _ in range(self._random.randint(1, 3))]
            if kind == "compound":
                row["initial"] = children[0]["name"]
            row["states" if kind == "compound" else "parallel states"] = children
        return row

    def _moves(self, row: dict[str, Any]) -> None:
        random = self._random
        row["transitions"] = [self._move() for _ in range(random.choice((0, 1, 1, 2)))]
        if random.random() < 0.1 and row["name"] != "s0":
            row["always"] = {"guard": random.choice(GUARDS), "target": random.choice(self._names[1:] or ["s0"])}
        for child in [*row.get("states", ()), *row.get("parallel states", ())]:
            self._moves(child)

    def _move(self) -> dict[str, Any]:
        random = self._random
        move: dict[str, Any] = {"event": random.choice((*EVENTS, "C.*", "*"))}
        if random.random() < 0.5:
            move["target"] = random.choice(self._names)
            move["internal"] = random.random() < 0.3
        else:
            move["action"] = {"log": "here"}
        if random.random() < 0.4:
            move["guard"] = random.choice((*GUARDS, "not g0"))
        return move


class Reference:
    """The recommendation, word for word, on names; the domain alone is the chart's."""

    def __init__(self, chart: Chart, says: dict[str, bool]) -> None:
        self.chart = chart
        self.says = says
        self.order = {state.name: place for place, state in enumerate(chart)}

    def select(self, active: set[str], event: str | None) -> list[int]:
        enabled: list[Transition] = []
        for state in sorted((s for s in active if not self.chart[s].children), key=self.order.__getitem__):
            found = self._first(state, event)
            if found is not None and found not in enabled:
                enabled.append(found)
        return [t.index for t in self._without_conflicts(enabled, active)]

    def _first(self, state: str, event: str | None) -> Transition | None:
        for name in (state, *self.chart.ancestors(state)):
            for transition in self.chart[name].transitions:
                if self._matches(transition, event) and self._holds(transition.guard):
                    return transition
        return None

    def _matches(self, transition: Transition, event: str | None) -> bool:
        if event is None:
            return not transition.events
        return any(descriptor_matches(descriptor, event) for descriptor in transition.events)

    def _holds(self, guard: Any) -> bool:
        if guard is None:
            return True
        return not self._holds(guard.operand) if isinstance(guard, Not) else self.says[guard.name]

    def _without_conflicts(self, enabled: list[Transition], active: set[str]) -> list[Transition]:
        filtered: list[Transition] = []
        for first in enabled:
            is_preempted, to_remove = False, list[Transition]()
            for second in filtered:
                if self._exits(first, active) & self._exits(second, active):
                    if second.source in self.chart.ancestors(first.source):
                        to_remove.append(second)
                    else:
                        is_preempted = True
                        break
            if not is_preempted:
                filtered = [t for t in filtered if t not in to_remove] + [first]
        return filtered

    def _exits(self, transition: Transition, active: set[str]) -> set[str]:
        if not transition.targets:
            return set()
        chart, source = self.chart, transition.source
        domain = next(
            (a for a in chart.ancestors(source) if all(a in chart.ancestors(t) for t in transition.targets)), chart.root
        )
        if transition.internal and all(t == source or source in chart.ancestors(t) for t in transition.targets):
            domain = source
        return {state for state in active if domain in chart.ancestors(state)}


def walked(
    chart: Chart, seed: int, kind: type[Interpreter] = Interpreter
) -> Iterator[tuple[Any, dict[str, bool], Step, set[str]]]:
    """Some steps with random events: the machine, what guards said, the step, what was active before it."""
    says = dict.fromkeys(GUARDS, False)
    bindings = Bindings()
    for name in GUARDS:
        bindings.add("guard", name, lambda context, event, name=name: says[name])
    machine = kind(chart, bindings, max_microsteps=60)
    random = Random(f"{seed} walk")
    machine.start()
    for _ in range(8):
        for name in GUARDS:
            says[name] = random.random() < 0.6
        before = set(machine.configuration)
        if isinstance(machine, Choosing):
            machine.choices = []
        try:
            machine.queue(random.choice((*EVENTS, "other")))
            step = machine.execute_once()
        except EventlessCycleError:
            return
        assert step is not None
        yield machine, says, step, before


def assert_as_the_reference(chart: Chart, seed: int) -> int:
    compared = 0
    for _, says, step, before in walked(chart, seed):
        reference = Reference(chart, says)
        active = before
        for micro in step.steps:
            event = None if micro.event is None else micro.event.name
            assert list(micro.indexes) == reference.select(active, event), (seed, event, sorted(active))
            if micro.plan is not None:
                active = set(micro.plan.target.names)
            compared += len(micro.indexes) > 1
    return compared


@pytest.mark.parametrize("part", range(10))
def test_random_charts_take_what_the_reference_takes(part: int) -> None:
    compared = 0
    for seed in range(part, CHARTS, 10):
        compared += assert_as_the_reference(parse_chart(Maker(seed).text), seed)
    assert compared > CHARTS / 50, "sets of several transitions"


def test_the_tables_hold_what_they_hold_when_they_are_thrown_away_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import rawko.interpreter.compiled.program as program

    monkeypatch.setattr(program, "MAX_NODES", 1)
    for seed in range(40):
        assert_as_the_reference(parse_chart(Maker(seed).text), seed)


@pytest.mark.parametrize("selection", ["scxml", "inner"])
def test_what_is_not_taken_is_told_why(selection: str) -> None:
    for seed in range(60):
        chart = parse_chart(Maker(seed, selection).text)
        for machine, _, _, _ in walked(chart, seed):
            for event in EVENTS:
                refused = {refusal.transition for refusal in machine.why_not(event)}
                active = set(machine.configuration)
                listening = {
                    t.index
                    for t in chart.transitions
                    if t.source in active and any(descriptor_matches(d, event) for d in t.events)
                }
                before = machine.checkpoint()
                can = machine.can(event)
                try:
                    taken = set(machine.send(event).steps[0].indexes)
                except EventlessCycleError:
                    taken = listening - refused
                machine.roll_back_to(before)
                assert taken == listening - refused, (seed, event)
                assert can == bool(taken)


def test_choices_of_a_recorded_step_are_those_that_were_made() -> None:
    for seed in range(60):
        chart = parse_chart(Maker(seed).text)
        for machine, _, step, _ in walked(chart, seed, Choosing):
            found = choices_of(machine, step)
            taken = [[c.index for c in choice.candidates if c.verdict == "taken"] for choice in found]
            expected = [sorted(micro.indexes) for micro in step.steps if micro.indexes]
            assert [sorted(each) for each in taken if each] == expected


BOTH = """
<scxml xmlns="http://www.w3.org/2005/07/scxml" name="both">
  <parallel id="p">
    <transition event="e"><log label="p" expr="'p'"/></transition>
    <state id="a"><transition event="e"><log label="a" expr="'a'"/></transition></state>
    <state id="b"/>
  </parallel>
</scxml>
"""


def test_an_imported_document_runs_both_and_says_so_there_and_back() -> None:
    chart = import_scxml(BOTH).chart
    assert chart.selection == "scxml"
    machine = Interpreter(chart)
    machine.start()
    assert len(machine.send("e").steps[0].indexes) == 2
    for again in (parse_chart(write_chart(chart)), import_scxml(export_scxml(chart).text).chart):
        assert (again.selection, again.hash) == ("scxml", chart.hash)
    assert not [loss for loss in export_scxml(chart).losses if "asked for other" in loss.message]
    assert [loss for loss in export_xstate(chart).losses if "XState takes the inner one alone" in loss.message]
    assert [loss for loss in losses(chart) if "sismic takes the inner one alone" in loss.message]


def test_the_hash_and_snapshots_know_the_selection() -> None:
    text = Maker(3).text
    one, other = parse_chart(text), parse_chart(text.replace("selection: scxml", "selection: inner"))
    assert one.hash != other.hash
    bindings = Bindings()
    for name in GUARDS:
        bindings.add("guard", name, lambda context, event: False)
    machine = Interpreter(one, bindings)
    machine.start()
    taken = machine.snapshot()
    Interpreter(one, bindings).restore(taken)
    with pytest.raises(Exception, match="the chart has changed since"):
        Interpreter(other, bindings).restore(taken)


def native(text: str) -> Chart:
    return parse_chart(text.replace("selection: scxml", "selection: inner"))


@pytest.mark.slow
def test_an_export_tells_each_chart_whose_outcome_would_differ() -> None:
    """Charts that differ are told; told is at most what some run may show."""
    differ = told = silent = 0
    for seed in range(CHARTS):
        text = Maker(seed).text
        per_leaf, inner = parse_chart(text), native(text)
        is_told = any(selection_differences(inner))
        assert is_told == any("SCXML takes both" in loss.message for loss in export_scxml(inner).losses)
        is_different = _differs(per_leaf, inner, seed)
        assert is_told or not is_different, seed
        differ += is_different
        told += is_told
        silent += not is_told
    assert differ > CHARTS / 20
    assert silent > CHARTS / 20, "not all charts are told"
    assert differ > told / 4, "what is told is mostly seen"


def _differs(one: Chart, other: Chart, seed: int) -> bool:
    for walk in range(6):
        ways: list[list[Any]] = []
        for chart in (one, other):
            way: list[Any] = []
            for machine, _, step, _ in walked(chart, seed + 10_000 * walk):
                way.append(([sorted(micro.indexes) for micro in step.steps], machine.configuration))
            ways.append(way)
        if ways[0] != ways[1]:
            return True
    return False


E, F = "transitions: [{event: E}]", "transitions: [{event: F}]"
OUT = "transitions: [{event: E, target: z}]"
MAYBE = "transitions: [{event: E, guard: g}]"
ALWAYS = "always: {guard: g, action: {log: x}}"
CASES: list[tuple[str, str, str, str, bool]] = [
    ("both leave nothing", E, E, "", True),
    ("both leave states", OUT, "transitions: [{event: E, target: a}]", "", False),
    ("the inner one leaves nothing", OUT, E, "", True),
    ("the outer one leaves nothing", E, OUT, "", True),
    ("other events", F, E, "", False),
    ("a wildcard", "transitions: [{event: '*'}]", E, "", True),
    ("a wildcard beside an error", "transitions: [{event: '*'}]", "transitions: [{event: error.x}]", "", False),
    ("a prefix", "transitions: [{event: E.*}]", "transitions: [{event: E.x}]", "", True),
    ("the other region always fires", E, E, E, False),
    ("the other region fires by a guard", E, E, MAYBE, True),
    ("never true", "transitions: [{event: E, guard: false}]", E, "", False),
    ("eventless beside an event", ALWAYS, E, "", False),
    ("both eventless", ALWAYS, ALWAYS, "", True),
]


@pytest.mark.parametrize(("name", "outer", "inner", "beside", "is_told"), CASES, ids=[case[0] for case in CASES])
def test_what_is_told_is_what_may_differ(name: str, outer: str, inner: str, beside: str, is_told: bool) -> None:
    lines = [
        "statechart:",
        "  name: m",
        "  root state:",
        "    name: m",
        "    initial: p",
        "    states:",
        "    - name: z",
    ]
    lines += ["    - name: p", *([f"      {outer}"] if outer else []), "      parallel states:", "      - name: a"]
    lines += [f"        {inner}"] if inner else []
    lines += ["      - name: b", *([f"        {beside}"] if beside else [])]
    assert any(selection_differences(parse_chart("\n".join(lines) + "\n"))) is is_told


def test_no_parallel_state_no_word() -> None:
    chart = parse_chart(
        "statechart:\n  name: m\n  root state:\n    name: m\n    initial: a\n    transitions: [{event: E}]\n"
        "    states:\n"
        "    - {name: a, transitions: [{event: E}]}\n"
    )
    assert not list(selection_differences(chart))
