"""Writes a chart as Markdown tables: every state and transition with everything that a drawing has no room for.

Two tables: states with their actions, invocations and description; transitions in document order with event,
guard, target, actions and description, all without cuts. For pages that show a drawing, and for `chart.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rawko.chart.definition import Chart, State, Transition
from rawko.render.formats.mermaid import to_mermaid
from rawko.render.placing.layout import Direction
from rawko.render.placing.texts import visible
from rawko.render.view import View, make_view
from rawko.render.words import actions_text, events_text, guard_text, limits_text, timers_by_event

_MARKS = re.compile(r"([\\`*_\[\]])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "~": "&#126;", "#": "&#35;"}


def to_markdown(
    chart: Chart, *, direction: Direction = "down", focus: str | None = None, depth: int | None = None
) -> str:
    """A page: the chart's name and description, its drawing as Mermaid text, its tables.

    Args:
        direction, focus, depth: Options of the drawing. With a focus, the tables contain only its states.

    Raises:
        UnknownStateError: The chart has no state `focus`.
        ValueError: `depth` < 1.
    """
    parts = [f"# {_words(chart.name)}", _words(chart.description)] if chart.description else [f"# {_words(chart.name)}"]
    drawing = to_mermaid(chart, title="", direction=direction, focus=focus, depth=depth)
    return "\n\n".join([*parts, f"```mermaid\n{drawing}```", to_tables(chart, focus=focus)])


def to_tables(chart: Chart, *, focus: str | None = None) -> str:
    """Only the tables, ending with a newline.

    Raises:
        UnknownStateError: The chart has no state `focus`.
    """
    view = make_view(chart, focus=focus)
    return "\n".join([*_states(view), "", *_transitions(view)]) + "\n"


def _states(view: View) -> Iterator[str]:
    yield "| state | kind | does | description |"
    yield "|---|---|---|---|"
    for state in view.chart:
        if view.subject is None or state.name in view.subject:
            does = "<br>".join(_does(state))
            yield f"| {_code(state.name)} | {_kind(view.chart, state)} | {does} | {_words(state.description)} |"


def _kind(chart: Chart, state: State) -> str:
    kind = "state" if state.kind == "atomic" else state.kind
    return kind if state.parent is None else f"{kind} in {_code(state.parent)}"


def _does(state: State) -> Iterator[str]:
    for word, targets, run in (
        ("initial", state.initial, state.initial_actions),
        ("default", state.memory, state.memory_actions),
    ):
        if targets:
            yield f"{word} {', '.join(map(_code, targets))}{f' / {_code(actions_text(run))}' if run else ''}"
    for word, actions in (("entry", state.on_entry), ("exit", state.on_exit)):
        if actions:
            yield f"{word} {_code(actions_text(actions))}"
    for invoke in state.invoke:
        limit = _words(limits_text(invoke))
        yield f"invoke {_code(invoke.id)}{'' if invoke.src == invoke.id else f' ({_code(invoke.src)})'}{limit}"
    if state.tags:
        yield f"tags {', '.join(map(_code, state.tags))}"


def _transitions(view: View) -> Iterator[str]:
    timers = timers_by_event(view.chart)
    yield "| in | event | guard | target | actions | description |"
    yield "|---|---|---|---|---|---|"
    last = None
    for transition in view.chart.transitions:
        if not view.concerns(transition):
            continue
        source = _code(transition.source) if transition.source != last else ""
        last = transition.source
        event = events_text(transition.events, timers)
        yield f"| {source} | {_code(event) if event else 'always'} | {' | '.join(_cells(transition))} |"


def _cells(transition: Transition) -> Iterator[str]:
    yield "" if transition.guard is None else _code(guard_text(transition.guard))
    yield ", ".join(map(_code, transition.targets)) or "stays"
    yield _code(actions_text(transition.actions)) if transition.actions else ""
    yield _words(transition.description)


def _code(text: str) -> str:
    """A name as code; as plain words if it contains a character that would end the cell or the code."""
    shown = _line(text)
    return _words(shown) if "|" in shown or "`" in shown or not shown else f"`{shown}`"


def _words(text: str) -> str:
    """A text with all markup escaped."""
    marked = _MARKS.sub(r"\\\1", _line(text))
    return "".join(_ENTITIES.get(char, char) for char in marked)


def _line(text: str) -> str:
    return visible(" ".join(text.split()))
