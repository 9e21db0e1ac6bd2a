"""How much of a chart its contracts cover: states, transitions, both outcomes of guards, both ends of actors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from rawko.chart.definition import Chart, GuardCall, State, Transition
from rawko.chart.expressions.formatting import format_guard
from rawko.chart.lint.walk import leaves
from rawko.interpreter.data.steps import Step

ENDS: Final = ("done", "error")
_ENDED: Final = {"done": "came to its end", "error": "failed"}


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
    """Counts the states, transitions, guard outcomes and ends of actors of one chart.

    Attributes:
        states: How often each state was entered or placed.
        transitions: How often each transition was taken, by its index in the chart.
        guards: How often each call of a guard had each outcome: (the call as the chart writes it, outcome). Each one of
            a compound guard counts by itself.
        actors: How often each invocation had each end: (id, "done" or "error").
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.states: Counter[str] = Counter()
        self.transitions: Counter[int] = Counter()
        self.guards: Counter[tuple[str, bool]] = Counter()
        self.actors: Counter[tuple[str, str]] = Counter()
        self._ends = {
            f"{end}.invoke.{invoke.id}": (invoke.id, end) for state in chart for invoke in state.invoke for end in ENDS
        }
        guards = (leaf for t in chart.transitions if t.guard is not None for leaf in leaves(t.guard))
        # Guards of contracts do not count: false there means that the machine has a defect.
        self._guard_names = sorted({format_guard(guard) for guard in guards if isinstance(guard, GuardCall)})

    # ------------------------------------------------------------ collecting

    def observe(self, step: Step) -> None:
        """Count one macrostep."""
        if not step.steps:  # a restored machine: it enters no state
            self.states.update(step.configuration)
        for micro in step.steps:
            self.states.update(micro.entered_states)
            self.transitions.update(getattr(micro, "indexes", ()))
        if step.event is not None and (end := self._ends.get(step.event.name)) is not None:
            self.actors[end] += 1

    def ask(self, asked: Iterable[tuple[str, bool]]) -> None:
        """Count guards and their outcomes."""
        self.guards.update(asked)

    def add(self, other: Coverage) -> None:
        """Add the counts of another object for the same chart.

        Raises:
            ValueError: It is for another chart.
        """
        if other.chart.hash != self.chart.hash:
            raise ValueError(f"coverage of chart {other.chart.name!r} cannot be added to {self.chart.name!r}'s")
        self.states.update(other.states)
        self.transitions.update(other.transitions)
        self.guards.update(other.guards)
        self.actors.update(other.actors)

    # ------------------------------------------------------------ asking

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
    def guard_share(self) -> Share:
        """Guard outcomes that were seen, two for each call that the chart writes."""
        total = 2 * len(self._guard_names)
        return Share(total - len(self.missing_guards), total)

    @property
    def actor_share(self) -> Share:
        """Ends of invocations that were seen, two for each: done and failed."""
        return Share(len(self._ends) - len(self.missing_actors), len(self._ends))

    @property
    def shares(self) -> tuple[Share, Share, Share, Share]:
        """Of states, transitions, outcomes of guards, ends of actors."""
        return self.state_share, self.transition_share, self.guard_share, self.actor_share

    @property
    def percent(self) -> float:
        """The lowest of the four shares."""
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
    def missing_guards(self) -> Sequence[tuple[str, bool]]:
        """Guard outcomes that were never seen."""
        pairs = ((name, outcome) for name in self._guard_names for outcome in (True, False))
        return [pair for pair in pairs if not self.guards[pair]]

    @property
    def missing_actors(self) -> Sequence[tuple[str, str]]:
        """Ends of invocations that were never seen."""
        return [end for end in self._ends.values() if not self.actors[end]]

    def to_json(self) -> dict[str, Any]:
        """Numbers and names, for reports. `visits` counts each state, each transition (by its index in the chart), and
        of each guard how often it was true and false."""
        return {
            "chart": self.chart.name,
            "file": self.chart.file,
            "states": list(self.state_share),
            "transitions": list(self.transition_share),
            "guards": list(self.guard_share),
            "actors": list(self.actor_share),
            "missing_states": [state.name for state in self.missing_states],
            "missing_transitions": [
                {"position": str(t.position), "transition": transition_text(t)} for t in self.missing_transitions
            ],
            "missing_guards": [{"guard": name, "outcome": outcome} for name, outcome in self.missing_guards],
            "missing_actors": [{"actor": name, "end": end} for name, end in self.missing_actors],
            "visits": {
                "states": {state.name: self.states[state.name] for state in self._countable},
                "transitions": [self.transitions[t.index] for t in self.chart.transitions],
                "guards": {n: [self.guards[n, True], self.guards[n, False]] for n in self._guard_names},
            },
        }


def transition_text(transition: Transition) -> str:
    """A transition on one line: `selecting -> executing on done.invoke.x [guard]`."""
    event = f" on {', '.join(transition.events)}" if transition.events else " always"
    guard = f" [{format_guard(transition.guard)}]" if transition.guard is not None else ""
    return f"{transition.source} -> {', '.join(transition.targets) or '(no target)'}{event}{guard}"


def coverage_table(coverages: Iterable[Coverage], *, is_verbose: bool = True) -> str:
    """A table with one row per chart; with `is_verbose`, missing elements are listed below it with their positions."""
    found = list(coverages)
    rows = [("chart", "states", "transitions", "guard outcomes", "ends of actors")]
    for c in found:
        rows.append((c.chart.name, *map(_cell, c.shares)))  # type: ignore[arg-type]  # four of them
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if is_verbose:
        for coverage in found:
            lines += missing_lines(coverage)
    return "\n".join(lines)


def _cell(share: Share) -> str:
    return f"{share} ({int(share.percent)} %)"


def missing_lines(coverage: Coverage) -> list[str]:
    """What was not covered, one line each, with its position."""
    return [
        *(f"{state.position}: state {state.name!r} was never active" for state in coverage.missing_states),
        *(f"{t.position}: never taken: {transition_text(t)}" for t in coverage.missing_transitions),
        *(f"{coverage.chart.file}: guard {n!r} was never {str(o).lower()}" for n, o in coverage.missing_guards),
        *(f"{coverage.chart.file}: actor {n!r} never {_ENDED[e]}" for n, e in coverage.missing_actors),
    ]
