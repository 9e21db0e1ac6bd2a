"""Writes a chart as Mermaid text (`stateDiagram-v2`), for READMEs and wikis. Equal charts give equal texts.

Mermaid has no escape character: labels end at the line end, and `;`, `:`, `#`, quotes, braces and `<` have a
meaning. Every character that is not plain is written as Mermaid's entity (`#35;`), so that no name can add a line, an
arrow or markup. States get generated ids (`s0`, `s1`, ...) and their name as a label. Mermaid can style neither lines
nor states with children: of the active states only those without children are marked, and taken transitions are marked
by the word "(taken)".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from rawko.chart.definition import Chart, State, Transition
from rawko.cutting import cut
from rawko.render.placing.layout import Direction
from rawko.render.view import View, make_view
from rawko.render.words import actions_text, event_text, guard_text, limits_text, timers_by_event
from rawko.vocabulary.visible import visible_line

MAX_LABEL = 80
"""Longest part of a label, in characters; longer parts are cut, so that the diagram stays readable."""

_INDENT = "    "
_ACTIVE = "stroke:#0072B2,stroke-width:4px"
_DIRECTION = re.compile(r"direction(?=\s|$)", re.IGNORECASE)
_PLAIN = frozenset(" _.,()/=+-?!'")
_SPACES = re.compile(r"[ \t\r\n]+")
_ODD = re.compile("[<>&%`{}#;|$]")
"""Characters with a meaning in Mermaid or in the page around it."""


def to_mermaid(
    chart: Chart,
    *,
    title: str | None = None,
    direction: Direction = "down",
    focus: str | None = None,
    depth: int | None = None,
    configuration: Collection[str] = (),
    taken: Collection[int] = (),
) -> str:
    """The chart as Mermaid text, ending with a newline.

    Args:
        title: Title above the diagram; by default the chart's name, "" for none.
        focus, depth: The part that is drawn; see `make_view`.
        configuration, taken: Active states and taken transitions; see `extract`.

    Raises:
        UnknownStateError: The chart has no state `focus`.
        ValueError: `depth` < 1.
    """
    view = make_view(chart, focus=focus, depth=depth)
    drawing = _Diagram(view, direction, frozenset(configuration), frozenset(taken))
    return "\n".join(drawing.lines(chart.name if title is None else title)) + "\n"


def escaped(text: str) -> str:
    """Text for a label: one line, shortened, with everything but letters, digits and a few marks as entities."""
    label = cut(_in_a_line(text), MAX_LABEL, "…")
    # Mermaid's lexer reads `direction LR` anywhere in a line as a statement, so its first letter becomes an entity.
    words = {found.start() for found in _DIRECTION.finditer(label)}
    return "".join(
        each if (each.isalnum() or each in _PLAIN) and place not in words else f"#{ord(each)};"
        for place, each in enumerate(label)
    )


def _in_a_line(text: str) -> str:
    return visible_line(" ".join(_SPACES.split(text)).strip(" "))


def _yaml(title: str) -> str:
    """The title as a YAML string. Mermaid searches the whole text for directives (`%%{init`), and a page that contains
    the text may read markup in it, so characters that are not plain are written as YAML escapes."""
    told = json.dumps(_in_a_line(title), ensure_ascii=False)[1:-1]
    return f'"{_ODD.sub(lambda found: _yaml_escaped(found[0]), told)}"'


def _yaml_escaped(char: str) -> str:
    return f"\\u{ord(char):04x}"


class _Diagram:
    def __init__(self, view: View, direction: Direction, configuration: frozenset[str], taken: frozenset[int]) -> None:
        self._view, self._chart = view, view.chart
        self._direction, self._taken = direction, taken
        self._active = {view.shown[name] for name in configuration if name in view.chart}
        self._ids = {state.name: f"s{state.order}" for state in view.chart}
        self._timers = timers_by_event(view.chart)

    def lines(self, title: str) -> Iterator[str]:
        if title:
            yield from ("---", f"title: {_yaml(title)}", "---")
        yield "stateDiagram-v2"
        yield from (_INDENT + line for line in self._body())

    def _body(self) -> Iterator[str]:
        if self._direction == "right":
            yield "direction LR"
        root = self._chart[self._chart.root]
        # The root is drawn only if it has something to show: own transitions, notes, regions.
        if root.kind == "compound" and self._children(root) and not root.transitions and not _notes(root):
            yield from self._inside(root)
        else:
            yield from self._state(root)
        for transition in self._chart.transitions:
            if self._view.concerns(transition):
                yield from self._arrows(transition)
        marked = [self._ids[state.name] for state in self._chart if self._is_marked(state)]
        if marked:
            yield from (f"classDef active {_ACTIVE}", f"class {','.join(marked)} active")

    def _is_marked(self, state: State) -> bool:
        return self._view.is_drawn(state.name) and state.name in self._active and not self._children(state)

    def _children(self, state: State) -> list[State]:
        return [self._chart[child] for child in state.children if self._view.is_drawn(child)]

    def _state(self, state: State) -> Iterator[str]:
        name = self._ids[state.name]
        label = "H*" if state.kind == "deep history" else "H" if state.is_history else escaped(state.name)
        if self._children(state):
            yield f'state "{label}" as {name} {{'
            yield from (_INDENT + line for line in self._inside(state))
            yield "}"
            return
        yield f'state "{label}" as {name}'
        # Mermaid takes a state's first text as its title and later ones as lines below; the label is the first.
        yield from (f"{name} : {note}" for note in _notes(state))
        if hidden := self._view.hidden_inside(state.name):
            yield f"{name} : {escaped(f'+ {hidden} states inside')}"
        if state.kind == "final":
            yield f"{name} --> [*]"

    def _inside(self, state: State) -> Iterator[str]:
        drawn = (self._view.shown[initial] for initial in state.initial)
        for initial in dict.fromkeys(each for each in drawn if each is not None and each != state.name):
            yield f"[*] --> {self._ids[initial]}"
        children = self._children(state)
        for place, child in enumerate(children):
            if state.kind == "parallel" and place:
                yield "--"
            yield from self._state(child)
        for child in children:
            for memory in child.memory:
                target = self._view.shown[memory]
                if target is not None:
                    yield f"{self._ids[child.name]} --> {self._ids[target]} : default"

    def _arrows(self, transition: Transition) -> Iterator[str]:
        source = self._view.shown[transition.source]
        if source is None:
            return
        label = self._label(transition)
        for target in transition.targets or (transition.source,):
            drawn = self._view.shown[target]
            if drawn is None or (drawn == source and (target, transition.source) != (source, source)):
                continue  # the transition stays inside a state that is drawn closed
            yield f"{self._ids[source]} --> {self._ids[drawn]}" + (f" : {label}" if label else "")

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
        if transition.index in self._taken:
            parts.append("(taken)")
        return " ".join(parts)


def _notes(state: State) -> list[str]:
    """Lines below a state's name: its invocations, entry and exit actions."""
    notes = [f"invoke {invoke.id}{limits_text(invoke) if invoke.for_each else ''}" for invoke in state.invoke]
    for word, actions in (("entry", state.on_entry), ("exit", state.on_exit)):
        if actions:
            notes.append(f"{word} / {actions_text(actions)}")
    return [escaped(note) for note in notes]
