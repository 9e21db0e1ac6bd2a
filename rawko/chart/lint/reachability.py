"""Rules about reachable configurations: unreachable states, and cycles of eventless transitions."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import Chart, State, Transition
from rawko.chart.errors import MAX_ACCEPTED, Diagnostic
from rawko.chart.lint import walk
from rawko.chart.lint.legality import entered_by_default
from rawko.chart.lint.rules import finding


def unreachable_states(chart: Chart) -> Iterator[Diagnostic]:
    """Report unreachable states; inside an unreachable state, no further ones are reported."""
    found = reached(chart)
    for state in chart:
        if state.name in found or state.parent is None or state.parent not in found:
            continue
        message = f"no transition leads into {walk.owner(state)}"
        yield finding("unreachable-state", state.position, message)


def reached(chart: Chart) -> set[str]:
    """States that some sequence of events can make active, if guards may have any outcome (except constant false);
    history states that are targets; and the targets of migrations."""
    by_default = entered_by_default(chart)
    found: set[str] = set()
    migrated = (move.target for each in chart.migrations[-1:] for moves in each.states.values() for move in moves)
    pending = [chart.root, *migrated]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        state = chart[name]
        if state.parent is not None:
            pending.append(state.parent)
        pending.extend(_inside(chart, state, by_default))
        for transition in state.transitions:
            if not walk.is_always_false(transition.guard):
                pending.extend(transition.targets)
                pending.extend(_regions_beside(chart, transition))
    return found


def _inside(chart: Chart, state: State, by_default: set[str]) -> tuple[str, ...]:
    """The states that a state enters by default."""
    if state.is_history:
        return state.memory or (() if state.parent is None else chart[state.parent].initial)
    if state.kind == "parallel":
        return tuple(name for name in state.children if not chart[name].is_history)
    return state.initial if state.name in by_default else ()


def _regions_beside(chart: Chart, transition: Transition) -> Iterator[str]:
    """Parallel ancestors of a target: all their regions are entered together with the target."""
    for target in transition.targets:
        for ancestor in chart.ancestors(target):
            if chart[ancestor].kind == "parallel":
                yield ancestor


def eventless_cycles(chart: Chart) -> Iterator[Diagnostic]:
    """Report cycles of eventless transitions that are always taken: each is its state's first and has no guard."""
    certain = {state.name: first for state in chart if (first := _certain(state)) is not None}
    seen: set[str] = set()
    for start in certain:
        path: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in seen:
            seen.add(name)
            path[name] = None
            name = _next(chart, certain, name)
        if name in path:
            yield _cycle_found(certain, list(path), name)


def _cycle_found(certain: dict[str, Transition], path: list[str], first: str) -> Diagnostic:
    cycle = path[path.index(first) :]
    way = " -> ".join((*cycle[:MAX_ACCEPTED], first))
    message = f"these eventless transitions form an endless cycle: {way}; guard one of them, or give it an event"
    return finding("eventless-cycle", certain[first].position, message)


def _certain(state: State) -> Transition | None:
    """The eventless transition that a state always takes; None if it has none or a guarded one precedes it."""
    for transition in sorted(state.transitions, key=lambda each: -each.priority):
        if transition.events:
            continue
        if walk.is_always_false(transition.guard):
            continue
        return transition if walk.is_always_true(transition.guard) and transition.targets else None
    return None


def _next(chart: Chart, certain: dict[str, Transition], name: str) -> str | None:
    """The state whose certain transition follows that of `name`; None if another transition may follow."""
    targets = certain[name].targets
    leaf = _default_leaf(chart, targets[0]) if len(targets) == 1 else None
    if leaf is None or (chart[leaf].kind == "final" and chart[leaf].parent == chart.root):
        return None
    for state in (leaf, *chart.ancestors(leaf)):
        if state in certain:
            return state
        if any(not transition.events for transition in chart[state].transitions):
            return None
    return None


def _default_leaf(chart: Chart, name: str) -> str | None:
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        state = chart[name]
        inside = state.memory if state.is_history else state.initial
        if state.kind in ("atomic", "final"):
            return name
        if len(inside) != 1:
            return None
        name = inside[0]
    return None
