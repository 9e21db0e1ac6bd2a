"""Exports a `Chart` as SCXML: states, transitions and events in SCXML's terms; timers as delayed sends with cancels.

Names of guards are written in `cond`, and bound actions as elements of rawko's namespace, with `datamodel="rawko"` if
there are any. Other engines need implementations of them; `import_scxml` reads them back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any
from xml.sax.saxutils import escape

from rawko.chart.definition import (
    Action,
    CancelAction,
    Chart,
    CodeGuard,
    CodeValue,
    Constant,
    Guard,
    InState,
    SendAction,
    State,
    Transition,
)
from rawko.chart.expressions.formatting import format_guard
from rawko.chart.formats.depth import require_writable
from rawko.chart.formats.exchange import Exported
from rawko.chart.formats.names import free_name
from rawko.chart.formats.scxml import code_parts
from rawko.chart.formats.scxml.domains import differs_in_domain, is_internal, stays
from rawko.chart.formats.scxml.markup import Lines, element, literal, token, xml
from rawko.chart.formats.scxml.source import OWN_DATA_MODEL, PYTHON
from rawko.chart.formats.scxml.writing_content import ContentWriter
from rawko.chart.formats.scxml.xml import RAWKO, SCXML
from rawko.chart.lint.selection import selection_differences
from rawko.chart.lint.walk import leaves


def export_scxml(chart: Chart) -> Exported:
    """The chart as an SCXML document, with the losses."""
    require_writable(chart)
    writer = _Writer(chart)
    text = "\n".join(writer.document())
    return Exported(text + "\n", writer.losses.sorted)


class _Writer(ContentWriter):
    def __init__(self, chart: Chart) -> None:
        super().__init__(chart)
        for state in chart:
            id = self._ids[state.name] = self._id(state)
            self._own_events[f"done.state.{state.name}"] = f"done.state.{id}"
            self._own_events |= {timer.event: f"after.{id}.{timer.index}" for timer in state.after}

    def document(self) -> Lines:
        chart = self._chart
        root = chart[chart.root]
        self._tell()
        body = code_parts.data_elements(chart.preamble) if self.is_python else []
        body += self._inside(root) if self._is_bare(root) else self._state(root)
        initial = self._initial_attribute(root) if self._is_bare(root) else {"initial": self._ids[root.name]}
        attributes = {"xmlns": SCXML, "version": "1.0", "name": xml(chart.name), **initial}
        has_own = any(line.lstrip().startswith("<rawko:") for line in body)
        is_own = not self.is_python and (has_own or self.has_named_delay or self._has_names())
        own: dict[str, str] = (
            {} if chart.errors == ("rollback" if is_own else "scxml") else {"rawko:errors": chart.errors}
        )
        if chart.selection != ("inner" if is_own else "scxml"):
            own["rawko:selection"] = chart.selection
        if has_own or own:
            attributes["xmlns:rawko"] = RAWKO
        attributes |= own
        attributes["datamodel"] = PYTHON if self.is_python else OWN_DATA_MODEL if is_own else "null"
        return ['<?xml version="1.0" encoding="UTF-8"?>', *element("scxml", attributes, body)]

    def _is_bare(self, root: State) -> bool:
        """Whether the root has no feature that <scxml> lacks."""
        says = (root.transitions, root.on_entry, root.on_exit, root.invoke, root.after, root.initial_actions)
        return root.kind == "compound" and not any(says)

    def _has_names(self) -> bool:
        guards = [row.guard for row in self._chart.transitions if row.guard is not None]
        return any(not isinstance(leaf, InState) for guard in guards for leaf in leaves(guard)) or any(
            not list(leaves(guard)) and not isinstance(guard, Constant) for guard in guards
        )

    # ------------------------------------------------------------ states

    def _state(self, state: State) -> Lines:
        tag, more = _TAGS.get(state.kind, ("state", {}))
        attributes = {"id": self._ids[state.name], **more, **self._initial_attribute(state)}
        return element(tag, attributes, self._inside(state))

    def _initial_attribute(self, state: State) -> dict[str, str]:
        if state.kind != "compound" or state.initial_actions or not state.initial:
            return {}
        return {"initial": self._names(state.initial)}

    def _inside(self, state: State) -> Lines:
        lines: Lines = []
        if state.initial_actions:
            lines += element("initial", {}, self._default(state.initial, state.initial_actions))
        if state.is_history:
            return self._default_of_history(state)
        lines += self.handlers("onentry", state.on_entry, tuple(self._timers(state)))
        lines += self.handlers("onexit", state.on_exit, tuple(CancelAction(timer.event) for timer in state.after))
        for transition in sorted(state.transitions, key=lambda each: -each.priority):
            lines += self._transition(transition)
        for invoke in state.invoke:
            lines += self.invocation(invoke)
        lines += self._donedata(state)
        for child in state.children:
            lines += self._state(self._chart[child])
        return lines

    def _default_of_history(self, state: State) -> Lines:
        """The default of a history. SCXML requires one: without a memory, it is the parent's default entry."""
        if state.memory:
            return self._default(state.memory, state.memory_actions)
        parent = self._chart[state.parent or self._chart.root]
        if parent.kind == "parallel":
            return self._default([name for name in parent.children if not self._chart[name].is_history], ())
        return self._default(parent.initial, parent.initial_actions)

    def _default(self, targets: Sequence[str], actions: Sequence[Action]) -> Lines:
        return element("transition", {"target": self._names(targets)}, self.actions(actions))

    def _timers(self, state: State) -> Iterator[Action]:
        for timer in state.after:
            yield SendAction(timer.event, delay=timer.delay, id=timer.event, position=timer.position)

    def _donedata(self, state: State) -> Lines:
        if state.output is None or state.parent is None:
            return []
        if isinstance(state.output, str):
            self._lose(state.position, f"output {state.output!r} of {state.name!r} is left out: it is a bound function")
            return []
        if isinstance(state.output, CodeValue):
            if self.is_python:
                return code_parts.output_elements(state.output.code)
            self._lose(state.position, f"output of {state.name!r} is left out: it is Python code with sismic's names")
            return []
        text = xml(literal(state.output, is_python=self.is_python))
        if self.is_python:
            return element("donedata", {}, element("content", {"expr": text}, []))
        return element("donedata", {}, element("content", {}, [escape(text)]))

    # ------------------------------------------------------------ transitions

    def _transition(self, transition: Transition) -> Lines:
        attributes: dict[str, str] = {}
        if transition.events:
            attributes["event"] = " ".join(
                dict.fromkeys(self._descriptor(transition, each) for each in transition.events)
            )
        if transition.guard is not None:
            attributes["cond"] = self._condition(transition.guard)
        if transition.targets:
            attributes["target"] = self._names(transition.targets)
        if self._chart.root in transition.targets:
            self._lose(transition.position, f"{_of(transition)}: SCXML leaves and enters the root again")
        if stays(self._chart, transition) or self._is_of_the_root(transition):
            attributes["type"] = "internal"
        elif transition.internal and transition.targets:
            self._lose(transition.position, f"{_of(transition)}: SCXML leaves and enters its source again")
        if differs_in_domain(self._chart, transition):
            self._lose(transition.position, f"{_of(transition)}: SCXML leaves the parallel state around it, too")
        return element("transition", attributes, self.actions(transition.actions))

    def _is_of_the_root(self, transition: Transition) -> bool:
        """Whether SCXML needs `internal` here: the transition's source is the root, which a chart never exits."""
        return transition.source == self._chart.root and is_internal(self._chart, transition)

    def _descriptor(self, transition: Transition, event: str) -> str:
        if event == "error.*" and "*" in transition.events:
            return "*"
        if event == "*" and "error.*" not in transition.events:
            self._lose(transition.position, f"{_of(transition)}: '*' takes errors and timers in SCXML, too")
        if event.startswith("error.invoke."):
            self._lose(transition.position, f"{_of(transition)}: SCXML has 'error.communication' for failed actors")
        longer = self._longer(f"{event}.")
        if longer is not None:
            self._lose(transition.position, f"{_of(transition)}: {event!r} takes {longer!r} in SCXML, too")
        return self._event(event, transition.position)

    def _condition(self, guard: Guard) -> str:
        if isinstance(guard, CodeGuard):
            if not self.is_python:
                self._lose(guard.position, f"condition {guard.code!r} is Python code with sismic's names")
            return xml(guard.code)
        if self.is_python and isinstance(guard, Constant):
            return str(guard.value)
        for leaf in leaves(guard):
            if not isinstance(leaf, InState):
                self._lose(leaf.position, f"guard {leaf.name!r} must be provided: SCXML's conditions are expressions")
        return xml(_in(guard, self._ids))

    # ------------------------------------------------------------ names and losses

    @cached_property
    def _written(self) -> list[str]:
        return sorted({event for row in self._chart.transitions for event in row.events})

    def _longer(self, prefix: str) -> str | None:
        """An event of the chart that begins with the prefix."""
        place = bisect_left(self._written, prefix)
        found = self._written[place] if place < len(self._written) else ""
        return found if found.startswith(prefix) else None

    def _id(self, state: State) -> str:
        found = free_name(token(state.name), self._taken)
        self._taken.add(found)
        if found != state.name:
            self._lose(state.position, f"state {state.name!r} has the id {found!r}: ids hold no spaces")
        return found

    def _names(self, names: Iterable[str]) -> str:
        return " ".join(self._ids[name] for name in names)

    def _tell(self) -> None:
        chart = self._chart
        root = chart[chart.root]
        if not self._is_bare(root) and any(chart[name].kind == "final" for name in root.children):
            self._lose(
                root.position, f"the machine does not end with its root {root.name!r}, a state of its own in SCXML"
            )
        if chart.selection == "inner":
            for differing in selection_differences(chart):
                self._lose(differing.outer.position, f"{differing.text}: SCXML takes both")
        silent: dict[str, Callable[[State], Any]] = {
            "descriptions": lambda state: state.description,
            "tags": lambda state: state.tags,
            "meta": lambda state: state.meta,
            "contracts": lambda state: state.contract or any(row.contract for row in state.transitions),
            "timeouts and 'on restore' of invocations": lambda state: any(
                row.timeout or row.on_restore != "restart" for row in state.invoke
            ),
            "'for each' of invocations": lambda state: any(row.for_each for row in state.invoke),
            "'on restore' of timers": lambda state: any(row.on_restore != "original" for row in state.after),
        }
        for what, asks in silent.items():
            found = next((state for state in chart if asks(state)), None)
            if found is not None:
                self._lose(found.position, f"{what} are left out: SCXML has none")
        for what, value in (("context", chart.context), ("events", chart.events), ("version", chart.version)):
            if value:
                self._lose(chart.position, f"{what!r} of the chart is left out: SCXML has none")


_TAGS: dict[str, tuple[str, dict[str, str]]] = {
    "parallel": ("parallel", {}),
    "final": ("final", {}),
    "shallow history": ("history", {"type": "shallow"}),
    "deep history": ("history", {"type": "deep"}),
}


def _in(guard: Guard, ids: dict[str, str]) -> str:
    """The text of a guard in SCXML's spelling: `In('id')` instead of `in_state('name')`."""
    text = format_guard(guard)
    for leaf in leaves(guard):
        if isinstance(leaf, InState):
            text = text.replace(format_guard(leaf), f"In('{ids.get(leaf.state, leaf.state)}')")
    return text


def _of(transition: Transition) -> str:
    return f"transition of {transition.source!r}"
