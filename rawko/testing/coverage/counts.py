"""Counts covered elements of a chart: states, transitions, branches of decisions, guard outcomes, ends of actors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rawko.chart.definition import Chart, GuardCall, State, Transition
from rawko.chart.expressions.formatting import format_guard
from rawko.chart.lint.walk import leaves
from rawko.interpreter.compiled.structure import structure_of
from rawko.interpreter.data.steps import Step
from rawko.interpreter.running.choices import Selection, Selections
from rawko.interpreter.running.interpreter import Interpreter
from rawko.testing.coverage.decisions import Branch, Decision, Decisions

ENDS: Final = ("done", "error")
_COUNTERS: Final = ("states", "transitions", "branches", "guards", "actors")


class Share(NamedTuple):
    """A covered number out of a total."""

    covered: int
    total: int

    @property
    def percent(self) -> float:
        """0 to 100; 100 if the total is 0."""
        return 100.0 if not self.total else 100.0 * self.covered / self.total

    def __str__(self) -> str:
        return f"{self.covered}/{self.total}"


class Coverage:
    """Coverage counts of one chart: states, transitions, branches of decisions, guard outcomes and ends of actors.

    Attributes:
        states: How often each state was entered, or was active in a placed machine.
        transitions: How often each transition was taken, by its index in the chart.
        decisions: The decisions of the chart.
        branches: How often each branch of a decision was taken: (index in `decisions.all`, branch).
        guards: How often each guard call had each outcome: (the call as written in the chart, outcome). Each call in a
            compound guard counts separately.
        actors: How often each invocation had each end: (id, "done" or "error").
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.states: Counter[str] = Counter()
        self.transitions: Counter[int] = Counter()
        self.branches: Counter[tuple[int, Branch]] = Counter()
        self.guards: Counter[tuple[str, bool]] = Counter()
        self.actors: Counter[tuple[str, str]] = Counter()
        self._ends = {
            f"{end}.invoke.{invoke.id}": (invoke.id, end) for state in chart for invoke in state.invoke for end in ENDS
        }
        guards = (leaf for t in chart.transitions if t.guard is not None for leaf in leaves(t.guard))
        # Conditions of the chart's contracts do not count: they are false only if the machine has a defect.
        self._guard_names = sorted({format_guard(guard) for guard in guards if isinstance(guard, GuardCall)})

        self.decisions = Decisions(chart)
        self._source = structure_of(chart).source

    # ------------------------------------------------------------ collecting

    def watch(self, machine: Interpreter) -> Selections | None:
        """A recorder of the machine's selections, for `observe`; None if every decision always takes a transition."""
        return Selections(machine, self.decisions.idle_states) if self.decisions.idle_states else None

    def observe(self, step: Step, selections: Iterable[Selection] = ()) -> None:
        """Count one macrostep, with the selections that were made in it."""
        if not step.steps:  # a restored machine enters no states, so its active ones are counted
            self.states.update(step.configuration)
        for micro in step.steps:
            self.states.update(micro.entered_states)
            indexes: Sequence[int] = getattr(micro, "indexes", ())
            self.transitions.update(indexes)
            event = None if micro.event is None else micro.event.name
            for index in indexes:
                self._decided(self._source[index], event, index)
        for selection in selections:
            for state in selection.idle:
                self._decided(state, selection.event, None)
        if step.event is not None and (end := self._ends.get(step.event.name)) is not None:
            self.actors[end] += 1

    def _decided(self, state: int, event: str | None, branch: Branch) -> None:
        place = self.decisions.place(state, event)
        if place is not None and branch in self.decisions.all[place].branches:
            self.branches[place, branch] += 1

    def ask(self, asked: Iterable[tuple[str, bool]]) -> None:
        """Count evaluated guard calls, each with its outcome."""
        self.guards.update(asked)

    def add(self, other: Coverage) -> None:
        """Add the counts of another object for the same chart.

        Raises:
            ValueError: The other object is for another chart.
        """
        if other.chart.hash != self.chart.hash:
            raise ValueError(f"coverage of chart {other.chart.name!r} cannot be added to {self.chart.name!r}'s")
        self.states.update(other.states)
        self.transitions.update(other.transitions)
        self.branches.update(other.branches)
        self.guards.update(other.guards)
        self.actors.update(other.actors)

    def dump(self) -> dict[str, Any]:
        """All counts as JSON data, for another process that has loaded the same chart."""
        return {
            "file": self.chart.file,
            "hash": self.chart.hash,
            **{name: [[key, count] for key, count in getattr(self, name).items()] for name in _COUNTERS},
        }

    def add_dumped(self, dumped: Mapping[str, Any]) -> None:
        """Add counts that another process has dumped.

        Raises:
            ValueError: They were counted for another version of the chart.
        """
        if dumped["hash"] != self.chart.hash:
            raise ValueError(f"the chart {self.chart.file} has changed while its contract ran")
        for name in _COUNTERS:
            getattr(self, name).update(
                {tuple(key) if isinstance(key, list) else key: count for key, count in dumped[name]}
            )

    # ------------------------------------------------------------ results

    @property
    def state_share(self) -> Share:
        """States that were active; history states are never active and do not count."""
        return Share(len(self._countable) - len(self.missing_states), len(self._countable))

    @property
    def transition_share(self) -> Share:
        """Transitions that were taken."""
        total = len(self.chart.transitions)
        return Share(total - len(self.missing_transitions), total)

    @property
    def decision_share(self) -> Share:
        """Branches of decisions that were taken."""
        total = sum(len(decision.branches) for decision in self.decisions.all)
        return Share(total - sum(len(never) for _, never in self.missing_decisions), total)

    @property
    def guard_share(self) -> Share:
        """Guard outcomes that occurred; each guard call in the chart has two."""
        total = 2 * len(self._guard_names)
        return Share(total - len(self.missing_guards), total)

    @property
    def actor_share(self) -> Share:
        """Ends of invocations that occurred; each invocation has two: done and failed."""
        return Share(len(self._ends) - len(self.missing_actors), len(self._ends))

    @property
    def shares(self) -> tuple[Share, Share, Share, Share, Share]:
        """Shares of states, transitions, branches of decisions, guard outcomes and ends of actors, in this order."""
        return self.state_share, self.transition_share, self.decision_share, self.guard_share, self.actor_share

    @property
    def percent(self) -> float:
        """The lowest of the five shares."""
        return min(share.percent for share in self.shares)

    @property
    def _countable(self) -> Sequence[State]:
        return [state for state in self.chart if not state.is_history]

    @property
    def missing_states(self) -> Sequence[State]:
        """States that were never active, in document order."""
        return [state for state in self._countable if not self.states[state.name]]

    @property
    def missing_transitions(self) -> Sequence[Transition]:
        """Transitions that were never taken, in document order."""
        return [t for t in self.chart.transitions if not self.transitions[t.index]]

    @property
    def missing_decisions(self) -> Sequence[tuple[Decision, Sequence[Branch]]]:
        """Decisions with the branches that were never taken, in document order."""
        found: list[tuple[Decision, Sequence[Branch]]] = []
        for place, decision in enumerate(self.decisions.all):
            if never := [branch for branch in decision.branches if not self.branches[place, branch]]:
                found.append((decision, never))
        return found

    @property
    def missing_guards(self) -> Sequence[tuple[str, bool]]:
        """Guard outcomes that never occurred."""
        pairs = ((name, outcome) for name in self._guard_names for outcome in (True, False))
        return [pair for pair in pairs if not self.guards[pair]]

    @property
    def missing_actors(self) -> Sequence[tuple[str, str]]:
        """Ends of invocations that never occurred."""
        return [end for end in self._ends.values() if not self.actors[end]]

    def to_json(self) -> dict[str, Any]:
        """Numbers and names for reports. `visits` counts each state, each transition (by its index in the chart), each
        branch of each decision, and for each guard call [times true, times false]."""
        return {
            "chart": self.chart.name,
            "file": self.chart.file,
            "states": list(self.state_share),
            "transitions": list(self.transition_share),
            "decisions": list(self.decision_share),
            "guards": list(self.guard_share),
            "actors": list(self.actor_share),
            "missing_states": [state.name for state in self.missing_states],
            "missing_transitions": [
                {"position": str(t.position), "transition": transition_text(t)} for t in self.missing_transitions
            ],
            "missing_decisions": [
                {**_decision_json(decision), "never": [self._branch_json(branch) for branch in never]}
                for decision, never in self.missing_decisions
            ],
            "missing_guards": [{"guard": name, "outcome": outcome} for name, outcome in self.missing_guards],
            "missing_actors": [{"actor": name, "end": end} for name, end in self.missing_actors],
            "visits": {
                "states": {state.name: self.states[state.name] for state in self._countable},
                "transitions": [self.transitions[t.index] for t in self.chart.transitions],
                "decisions": [
                    {
                        **_decision_json(decision),
                        "branches": [
                            {**self._branch_json(branch), "count": self.branches[place, branch]}
                            for branch in decision.branches
                        ],
                    }
                    for place, decision in enumerate(self.decisions.all)
                ],
                "guards": {n: [self.guards[n, True], self.guards[n, False]] for n in self._guard_names},
            },
        }

    def _branch_json(self, branch: Branch) -> dict[str, Any]:
        return {"transition": branch, "text": branch_text(self.chart, branch)}


def _decision_json(decision: Decision) -> dict[str, Any]:
    return {"position": str(decision.position), "state": decision.state, "event": decision.event}


def branch_text(chart: Chart, branch: Branch) -> str:
    """A branch of a decision: `-> executing [has_agent]`, or `no transition`."""
    if branch is None:
        return "no transition"
    transition = chart.transitions[branch]
    guard = f" [{format_guard(transition.guard)}]" if transition.guard is not None else ""
    return f"-> {', '.join(transition.targets) or '(no target)'}{guard}"


def transition_text(transition: Transition) -> str:
    """A transition on one line: `selecting -> executing on done.invoke.x [guard]`."""
    event = f" on {', '.join(transition.events)}" if transition.events else " always"
    guard = f" [{format_guard(transition.guard)}]" if transition.guard is not None else ""
    return f"{transition.source} -> {', '.join(transition.targets) or '(no target)'}{event}{guard}"
