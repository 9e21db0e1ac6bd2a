"""Rules about ends: states that never finish, final states without output, and history states with actions."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import Chart, State
from rawko.chart.errors import Diagnostic
from rawko.chart.lint import walk
from rawko.chart.lint.rules import finding


def unfinishable_states(chart: Chart) -> Iterator[Diagnostic]:
    """Report `on done` of states whose children cannot finish, and of the root, whose end ends the machine."""
    for state in chart:
        if not any(transition.origin == "on done" for transition in state.transitions):
            continue
        position = chart.marks.get(("on done", state.name), state.position)
        if state.parent is None:
            message = "the machine ends when its root is done, so 'on done' of the root is never taken"
            yield finding("unfinishable", position, message)
        elif not _can_finish(chart, state):
            message = f"{walk.owner(state)} never finishes: {_WHY_NOT[state.kind]}"
            yield finding("unfinishable", position, message)


_WHY_NOT = {
    "compound": "none of its children is final",
    "parallel": "a region of it has no final state",
}


def _can_finish(chart: Chart, state: State) -> bool:
    children = [chart[name] for name in state.children if not chart[name].is_history]
    if state.kind == "parallel":
        return all(child.kind == "final" or _can_finish(chart, child) for child in children)
    return any(child.kind == "final" for child in children)


def silent_histories(chart: Chart) -> Iterator[Diagnostic]:
    for state in chart:
        if state.is_history and (state.on_entry or state.on_exit or state.contract):
            message = f"{walk.owner(state)} is never active itself: its entry, exit and contract never run"
            yield finding("silent-history", state.position, message)


def silent_finals(chart: Chart) -> Iterator[Diagnostic]:
    """Report final states of the machine without output if another final state of the machine has an output."""
    ends = [chart[name] for name in chart[chart.root].children if chart[name].kind == "final"]
    telling = next((state for state in ends if state.output is not None), None)
    if telling is None or chart[chart.root].output is not None:
        return
    for state in ends:
        if state.output is None:
            message = (
                f"{walk.owner(state)} has no output, and {telling.name!r}, which is an end too, has one: what invokes "
                "the machine cannot tell how it ended; give it an output, or the root"
            )
            yield finding("final-without-outcome", state.position, message)
