"""Reads the transitions of XState states as drafts: `on`, `always`, `after`, `onDone`, `invoke`."""

from __future__ import annotations

from typing import Any

from rawko.chart.definition import Json
from rawko.chart.errors import shown
from rawko.chart.formats.names import free_name, printable
from rawko.chart.formats.xstate.behaviour import Behaviour
from rawko.chart.formats.xstate.events import from_xstate, in_xstates_order, is_wildcard
from rawko.chart.formats.xstate.source import Source
from rawko.chart.formats.xstate.tree import Tree, XState, in_javascript_order
from rawko.chart.reading.reader import Unreadable
from rawko.chart.reading.transitions import InvokeDraft, TimerDraft, TransitionDraft
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode

_TRANSITION_KEYS = frozenset(("target", "guard", "actions", "reenter", "description"))
_INVOKE_KEYS = frozenset(("src", "id", "input", "onDone", "onError"))
_KEYS = {"on": "transitions", "always": "always", "after": "after", "invoke": "invoke", "onDone": "on done"}


class TransitionReader:
    """Reads the transitions of one machine's states."""

    def __init__(self, source: Source, tree: Tree, behaviour: Behaviour) -> None:
        self._source = source
        self._tree = tree
        self._behaviour = behaviour
        self._invoke_ids: dict[tuple[int, int], str] = {}
        self._has_timers = any("after" in state.node.entries for state in tree.root)
        self._events = self._named_events()

    def of(self, state: XState) -> dict[str, Any]:
        """A state's keys with transitions, in the order written. XState tries wildcards after all other descriptors,
        so `transitions` with wildcards come last."""
        found: dict[str, Any] = {}
        for key in state.node.entries:
            if key not in _KEYS or self._source.value(state.node, key) is None:
                continue
            try:
                value = self._read(state, key)
            except Unreadable:
                continue
            if value:
                found[_KEYS[key]] = value
        if any(is_wildcard(event) for row in found.get("transitions", []) for event in row.events):
            found["transitions"] = found.pop("transitions")
        return found

    def _read(self, state: XState, key: str) -> Any:
        value = self._source.value(state.node, key)
        assert value is not None
        if key == "on":
            return self._on(state, self._source.reader.mapping(value, "an object of events to transitions"))
        if key == "after":
            return self._after(state, self._source.reader.mapping(value, "an object of delays to transitions"))
        if key == "invoke":
            return self._invoke(state, value)
        return self._transitions(state, value)

    # ------------------------------------------------------------ events

    def _named_events(self) -> dict[str, str]:
        """Maps XState's names for events of states, invocations and timers to the chart's."""
        found: dict[str, str] = {}
        taken: set[str] = set()
        for state in self._tree.root:
            found[f"xstate.done.state.{state.id}"] = f"done.state.{state.name}"
            for place, node in enumerate(self._source.items(self._source.value(state.node, "invoke"))):
                if isinstance(node, MappingNode):
                    theirs, ours = self._invoke_name(state, place, node, taken)
                    self._invoke_ids[id(state), place] = ours
                    found.setdefault(f"xstate.done.actor.{theirs}", f"done.invoke.{ours}")
                    found.setdefault(f"xstate.error.actor.{theirs}", f"error.invoke.{ours}")
            after = self._source.value(state.node, "after")
            if isinstance(after, MappingNode):
                for index, (key, _) in enumerate(in_javascript_order(after)):
                    found[f"xstate.after.{key.text}.{state.id}"] = f"after.{state.name}.{index}"
        return found

    def _invoke_name(self, state: XState, place: int, node: MappingNode, taken: set[str]) -> tuple[str, str]:
        """XState's id of an invocation, and a unique one for the chart: the given id, the src, or src and state."""
        given, src = self._source.value(node, "id"), self._source.value(node, "src")
        theirs = given.text if isinstance(given, ScalarNode) else f"{place}.{state.id}"
        wanted = theirs if given is not None else src.text if isinstance(src, ScalarNode) else theirs
        ours = free_name(printable(wanted), taken)
        taken.add(ours)
        if given is not None and ours != theirs:
            message = f"invoke {shown(theirs)} is called {ours!r} here: ids are unique in a chart"
            self._source.lost(given, message)
        return theirs, ours

    def _on(self, state: XState, node: MappingNode) -> list[TransitionDraft]:
        entries = {key.text: (key, value) for key, value in in_javascript_order(node)}
        found: list[TransitionDraft] = []
        for descriptor in in_xstates_order(entries):
            key, value = entries[descriptor]
            events = self._descriptors(key)
            for draft in self._transitions(state, value) if events else []:
                draft.events = events
                found.append(draft)
        return found

    def _descriptors(self, key: ScalarNode) -> tuple[str, ...]:
        """The chart's descriptors for one of XState's; empty if it has none, which is reported as a loss."""
        text = key.text
        if not text.strip() or text != printable(text):
            message = f"{shown(text)} is no name of an event; eventless transitions stand under 'always'"
            self._source.reader.report("invalid-event", key, message)
            return ()
        event = from_xstate(text, self._events)
        if event is None:
            self._source.lost(key, f"transitions on {shown(text)} are left out: there is no such event here")
            return ()
        if event == "*":
            return ("*", *self._taken_by_star())
        if "*" in event.removesuffix(".*"):
            self._source.reader.report("invalid-event", key, f"{shown(text)} has a wildcard in the middle")
            return ()
        return (event,)

    def _taken_by_star(self) -> tuple[str, ...]:
        """The further events of XState's `*`: errors of invocations and timers whose own transitions do not fire."""
        errors = ("error.invoke.*",) if self._invoke_ids else ()
        return (*errors, *(("after.*",) if self._has_timers else ()))

    # ------------------------------------------------------------ timers and invocations

    def _after(self, state: XState, node: MappingNode) -> list[TimerDraft]:
        found: list[TimerDraft] = []
        for key, value in in_javascript_order(node):
            try:
                delay = self._behaviour.delay(key)
            except Unreadable:
                continue
            found.append(TimerDraft(self._source.position(key), delay, self._transitions(state, value)))
        return found

    def _invoke(self, state: XState, value: Node) -> list[InvokeDraft]:
        found: list[InvokeDraft] = []
        for place, item in enumerate(self._source.items(value)):
            try:
                node = self._source.reader.mapping(item, "an object with 'src'")
                found.append(self._invocation(state, place, node))
            except Unreadable:
                continue
        return found

    def _invocation(self, state: XState, place: int, node: MappingNode) -> InvokeDraft:
        self._source.keys(node, f"an invoke of {shown(state.key)}", _INVOKE_KEYS)
        src = self._source.value(node, "src")
        if src is None:
            self._source.fail("missing-key", node, "an invoke needs 'src', the name of an actor")
        outcomes = {
            key: self._transitions(state, found)
            for key in node.entries
            if key in ("onDone", "onError") and (found := self._source.value(node, key)) is not None
        }
        names = {"onDone": "on done", "onError": "on error"}
        return InvokeDraft(
            self._source.position(node),
            printable(self._source.text(src, "the name of an actor")),
            self._invoke_ids[id(state), place],
            self._source.position(src),
            input=self._input(node),
            on_done=outcomes.get("onDone", []),
            on_error=outcomes.get("onError", []),
            order=tuple(names[key] for key in outcomes),
        )

    def _input(self, node: MappingNode) -> dict[str, Json] | None:
        value = self._source.value(node, "input")
        if value is None:
            return None
        if not isinstance(value, MappingNode):
            self._source.lost(value, "an input that is no object is left out")
            return None
        found = self._source.json(value)
        assert isinstance(found, dict)
        return found

    # ------------------------------------------------------------ transitions

    def _transitions(self, state: XState, value: Node) -> list[TransitionDraft]:
        """A target, a transition, or a list of them; null is a transition that does nothing and consumes the event."""
        return self._source.reader.each(self._source.items(value), lambda item: self._transition(state, item))

    def _transition(self, state: XState, node: Node) -> TransitionDraft:
        draft = TransitionDraft(self._source.position(node))
        if isinstance(node, ScalarNode) and node.is_plain and node.text == "null":
            return draft
        if not isinstance(node, MappingNode):
            self._aim(draft, state, [node], is_reentering=False)
            return draft
        self._source.keys(node, f"a transition of {shown(state.key)}", _TRANSITION_KEYS)
        guard = self._source.value(node, "guard")
        draft.guard = None if guard is None else self._behaviour.guard(guard)
        draft.actions = self._behaviour.actions(self._source.value(node, "actions"))
        description = self._source.value(node, "description")
        draft.description = "" if description is None else self._source.text(description, "a text")
        targets = self._source.items(self._source.value(node, "target"))
        self._aim(draft, state, targets, is_reentering=self._reenter(node))
        return draft

    def _reenter(self, node: MappingNode) -> bool:
        value = self._source.value(node, "reenter")
        if value is None:
            return False
        if not isinstance(value, ScalarNode) or value.text not in ("true", "false") or not value.is_plain:
            self._source.reader.wrong_type(value, "true or false")
        return value.text == "true"

    def _aim(self, draft: TransitionDraft, state: XState, nodes: list[Node], *, is_reentering: bool) -> None:
        """Set the targets, and `internal` if XState would not exit the source."""
        found: list[XState] = []
        for node in nodes:
            text = self._source.text(node, "a target: 'sibling', '.child' or '#id'")
            if text:  # "" means no target in XState
                found.append(self._target(state, text, node))
        draft.targets = tuple(target.name for target in found)
        draft.target_positions = tuple(self._source.position(node) for node in nodes)[: len(found)]
        if is_reentering and state.parent is None and found:
            self._source.lost(nodes[0], "the root is not exited and entered again here, whatever 'reenter' says")
        draft.internal = not is_reentering and bool(found) and stays_inside(state, found)

    def _target(self, state: XState, text: str, node: Node) -> XState:
        found = self._tree.target(state, text)
        if found is None:
            message = f"state {shown(state.key)} leads to {shown(text)}, which does not exist"
            if state.parent is None and not text.startswith(("#", ".")):
                message += f"; from the root, its child is {shown('.' + text)}"
            self._source.fail("unknown-target", node, message)
        return found


def stays_inside(source: XState, targets: list[XState]) -> bool:
    """Whether `reenter` matters: all targets may be descendants of the source. The root is never exited."""
    return source.parent is not None and all(
        target.is_inside(source) or (target.is_history and _is_above(target.parent, source)) for target in targets
    )


def _is_above(parent: XState | None, source: XState) -> bool:
    return parent is not None and source.is_inside(parent)
