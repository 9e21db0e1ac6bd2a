"""Chart to Mermaid text (`stateDiagram-v2`), for READMEs and wikis. The same chart gives the same text.

Mermaid has no escape character: labels end at the line, and `;`, `:`, `#`, quotes, braces and `<` mean
something. Whatever is not plain is written as Mermaid's entity (`#35;`), so that no name can add a line, an
arrow or markup. States get ids of their own (`s0`, `s1`, ...) and their name as a label.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rawko.chart.definition import Chart, State, Transition
from rawko.render.words import actions_text, event_text, guard_text, timers_by_event

MAX_LABEL = 80
"""Longest part of a label, in characters; what is longer is cut, so that a diagram stays one."""

_INDENT = "    "
_DIRECTION = re.compile(r"direction(?=\s|$)", re.IGNORECASE)
_PLAIN = frozenset(" _.,()/=+-?!'")


def to_mermaid(chart: Chart, *, title: str | None = None) -> str:
    """The chart as Mermaid text, ending with a newline.

    Args:
        title: Above the diagram; the chart's name by default, "" for none.
    """
    return "\n".join(_Diagram(chart).lines(chart.name if title is None else title)) + "\n"


def escaped(text: str) -> str:
    """Text for a label: one line, cut, with everything but letters, digits and a few marks as entities."""
    line = " ".join(text.split())
    cut = line if len(line) <= MAX_LABEL else line[: MAX_LABEL - 1] + "…"
    # Mermaid's lexer takes `direction LR` for a statement wherever in a line it stands: break the word.
    words = {found.start() for found in _DIRECTION.finditer(cut)}
    return "".join(
        each if (each.isalnum() or each in _PLAIN) and place not in words else f"#{ord(each)};"
        for place, each in enumerate(cut)
    )


class _Diagram:
    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._ids = {state.name: f"s{state.order}" for state in chart}
        self._timers = timers_by_event(chart)

    def lines(self, title: str) -> Iterator[str]:
        if title:
            yield from ("---", f"title: {json.dumps(' '.join(title.split()), ensure_ascii=False)}", "---")
        yield "stateDiagram-v2"
        yield from (_INDENT + line for line in self._body())

    def _body(self) -> Iterator[str]:
        root = self._chart[self._chart.root]
        # The root is drawn only where it has something to show: its own transitions, entry, regions.
        if root.kind == "compound" and not root.transitions and not _notes(root):
            yield from self._inside(root)
        else:
            yield from self._state(root)
        for transition in self._chart.transitions:
            yield from self._arrows(transition)

    def _state(self, state: State) -> Iterator[str]:
        name = self._ids[state.name]
        label = "H*" if state.kind == "deep history" else "H" if state.is_history else escaped(state.name)
        if state.kind in ("compound", "parallel"):
            yield f'state "{label}" as {name} {{'
            yield from (_INDENT + line for line in self._inside(state))
            yield "}"
            return
        yield f'state "{label}" as {name}'
        # The first text of a state is its title, later ones stand under it: the label is given already.
        yield from (f"{name} : {note}" for note in _notes(state))
        if state.kind == "final":
            yield f"{name} --> [*]"

    def _inside(self, state: State) -> Iterator[str]:
        for initial in state.initial:
            yield f"[*] --> {self._ids[initial]}"
        for place, child in enumerate(state.children):
            if state.kind == "parallel" and place:
                yield "--"
            yield from self._state(self._chart[child])
        for child in state.children:
            for memory in self._chart[child].memory:
                yield f"{self._ids[child]} --> {self._ids[memory]} : default"

    def _arrows(self, transition: Transition) -> Iterator[str]:
        label = self._label(transition)
        source = self._ids[transition.source]
        for target in transition.targets or (transition.source,):
            yield f"{source} --> {self._ids[target]}" + (f" : {label}" if label else "")

    def _label(self, transition: Transition) -> str:
        parts = (
            [escaped(", ".join(event_text(event, self._timers) for event in transition.events))]
            if transition.events
            else []
        )
        if transition.guard is not None:
            parts.append(f"[{escaped(guard_text(transition.guard))}]")
        if transition.actions:
            parts.append(f"/ {escaped(actions_text(transition.actions))}")
        if not transition.targets:
            parts.append("(stays)")
        return " ".join(parts)


def _notes(state: State) -> list[str]:
    """Lines under a state's name: what runs in it, and what is done on entry and exit."""
    notes = [f"invoke {invoke.id}" for invoke in state.invoke]
    for word, actions in (("entry", state.on_entry), ("exit", state.on_exit)):
        if actions:
            notes.append(f"{word} / {actions_text(actions)}")
    return [escaped(note) for note in notes]
