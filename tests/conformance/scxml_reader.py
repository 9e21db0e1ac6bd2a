"""SCXML's structure as a rawko chart with its bindings: for the conformance suites only.

Descriptors `a` become `a.*`, `*` also takes errors; every block of executable content is one bound action.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from rawko.chart.assemble import sealed
from rawko.chart.definition import CallAction, Chart, GuardCall, State, StateKind, Transition
from rawko.interpreter import Bindings, Interpreter
from tests.conformance.content import SCXML, Blocks, elements, tag
from tests.conformance.expressions import Unsupported

_KINDS: dict[str, StateKind] = {"parallel": "parallel", "final": "final"}
ROOT = "(scxml)"


@dataclass
class Document:
    """A document ready to run."""

    chart: Chart
    bindings: Bindings
    data: dict[str, Any]
    data_errors: list[str]
    active: list[Interpreter]

    def interpreter(self) -> Interpreter:
        """A machine in its first configuration."""
        machine = Interpreter(self.chart, self.bindings, input=self.data)
        self.active.append(machine)
        return machine


def read_scxml(path: Path) -> Document:
    """The chart of a file.

    Raises:
        Unsupported: It needs a data model beyond `tests.conformance.expressions`.
    """
    return _Reader(path).document()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = ElementTree.parse(path).getroot()
        self.active: list[Interpreter] = []
        self.blocks = Blocks(path.parent, self._is_active)
        self.bindings = Bindings()
        self.states: dict[str, State] = {}
        self.transitions: list[Transition] = []
        self.names: dict[int, str] = {}
        self.functions = 0

    def _is_active(self, name: str) -> bool:
        return self.active[0].matches(name)

    def document(self) -> Document:
        data, errors = self._data()
        for script in elements(self.root, "script"):
            self.blocks.scripts.define(self.blocks.script(script))
        self._name_all(self.root)
        self._add(self.root, None)
        chart = Chart(
            name=self.path.stem,
            root=ROOT,
            states=MappingProxyType(self.states),
            transitions=tuple(self.transitions),
            hash="",
        )
        return Document(sealed(chart), self.bindings, data, errors, self.active)

    def _data(self) -> tuple[dict[str, Any], list[str]]:
        data: dict[str, Any] = {}
        errors: list[str] = []
        for element in self.root.iter(f"{SCXML}data"):
            data[element.attrib["id"]] = None
            try:
                data[element.attrib["id"]] = self.blocks.expression(element.get("expr", "null"))(data)
            except SyntaxError as error:
                errors.append(str(error))
        return data, errors

    def _name_all(self, element: Element) -> None:
        self.names[id(element)] = ROOT if element is self.root else element.get("id") or f"(state {len(self.names)})"
        for child in elements(element, "state", "parallel", "final", "history"):
            self._name_all(child)

    # ------------------------------------------------------------ states

    def _add(self, element: Element, parent: str | None) -> None:
        name = self.names[id(element)]
        order, first = len(self.states), len(self.transitions)
        inside = list(elements(element, "state", "parallel", "final", "history"))
        self.states[name] = State(name=name, order=order, kind="atomic")  # keeps its place among the states
        is_history = tag(element) == "history"
        if not is_history:
            for transition in elements(element, "transition"):
                self._transition(transition, name)
        initial, initial_actions = self._initial(element, inside)
        memory, memory_actions = self._default(element) if is_history else ((), ())
        self.states[name] = State(
            name=name,
            order=order,
            kind=self._kind(element, inside),
            parent=parent,
            children=tuple(self.names[id(child)] for child in inside),
            initial=initial,
            initial_actions=initial_actions,
            memory=memory,
            memory_actions=memory_actions,
            on_entry=tuple(self._action(block) for block in elements(element, "onentry")),
            on_exit=tuple(self._action(block) for block in elements(element, "onexit")),
            transitions=tuple(self.transitions[first:]),
        )
        for child in inside:
            self._add(child, name)

    def _kind(self, element: Element, inside: list[Element]) -> StateKind:
        if tag(element) == "history":
            return "deep history" if element.get("type") == "deep" else "shallow history"
        if tag(element) in _KINDS:
            return _KINDS[tag(element)]
        return "compound" if inside else "atomic"

    def _initial(self, element: Element, inside: list[Element]) -> tuple[tuple[str, ...], tuple[CallAction, ...]]:
        if tag(element) in ("parallel", "final", "history") or not inside:
            return (), ()
        if (written := element.get("initial")) is not None:
            return tuple(written.split()), ()
        for initial in elements(element, "initial"):
            return self._default(initial)
        first = next(child for child in inside if tag(child) != "history")
        return (self.names[id(first)],), ()

    def _default(self, element: Element) -> tuple[tuple[str, ...], tuple[CallAction, ...]]:
        for transition in elements(element, "transition"):
            actions = (self._action(transition),) if len(transition) else ()
            return tuple(transition.attrib["target"].split()), actions
        return (), ()

    # ------------------------------------------------------------ transitions

    def _transition(self, element: Element, source: str) -> None:
        condition = element.get("cond")
        guard = None
        if condition is not None:
            name = self._bind("guard", self.blocks.guard(condition))
            guard = GuardCall(name)
        self.transitions.append(
            Transition(
                index=len(self.transitions),
                source=source,
                events=tuple(d for written in element.get("event", "").split() for d in descriptors(written)),
                targets=tuple(element.get("target", "").split()),
                guard=guard,
                actions=(self._action(element),) if len(element) else (),
                internal=element.get("type") == "internal",
            )
        )

    def _action(self, element: Element) -> CallAction:
        return CallAction(self._bind("action", self.blocks.action(element)))

    def _bind(self, kind: Any, function: Any) -> str:
        self.functions += 1
        name = f"{kind}_{self.functions}"
        self.bindings.add(kind, name, function)
        return name


def descriptors(written: str) -> tuple[str, ...]:
    """SCXML's descriptor in rawko's words: `a` also means `a.b`; `*` means everything."""
    if written == "*":
        return ("*", "error.*")
    return (f"{written.removesuffix('*').removesuffix('.')}.*",)


__all__ = ["Document", "Unsupported", "descriptors", "read_scxml"]
