"""A `Chart` to SCXML: states, transitions and events as SCXML has them; timers as delayed sends that are cancelled.

Names of guards stand in `cond` and bound actions in elements of our own namespace, with `datamodel="rawko"` where
there are any: other engines need them provided, `import_scxml` reads them back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never
from xml.sax.saxutils import escape, quoteattr

from rawko.chart.definition import (
    Action,
    AssignAction,
    BlockAction,
    CallAction,
    CancelAction,
    Chart,
    CodeAction,
    Constant,
    Delay,
    EmitAction,
    FixedDelay,
    Guard,
    InState,
    Json,
    LogAction,
    NamedDelay,
    Position,
    RaiseAction,
    SendAction,
    State,
    Transition,
    flat,
)
from rawko.chart.expressions import format_call, format_guard
from rawko.chart.formats.exchange import Exported, Losses
from rawko.chart.formats.names import free_name
from rawko.chart.formats.scxml.domains import differs_in_domain, is_internal, stays
from rawko.chart.formats.scxml.source import OWN_DATA_MODEL
from rawko.chart.formats.scxml.xml import RAWKO, SCXML
from rawko.chart.formats.yaml_writer import delay_text
from rawko.chart.lint.walk import leaves

_NOT_ID = re.compile(r"[^\w.-]+")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Lines = list[str]


def export_scxml(chart: Chart) -> Exported:
    """The chart as an SCXML document, with what it loses."""
    writer = _Writer(chart)
    text = "\n".join(writer.document())
    return Exported(text + "\n", writer.losses.sorted)


class _Writer:
    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self.losses = Losses()
        self._ids: dict[str, str] = {}
        self._own_events: dict[str, str] = {}
        for state in chart:
            id = self._ids[state.name] = self._id(state)
            self._own_events[f"done.state.{state.name}"] = f"done.state.{id}"
            self._own_events |= {timer.event: f"after.{id}.{timer.index}" for timer in state.after}

    def document(self) -> Lines:
        chart = self._chart
        root = chart[chart.root]
        self._tell()
        body = self._inside(root) if self._is_bare(root) else self._state(root)
        initial = self._initial_attribute(root) if self._is_bare(root) else {"initial": self._ids[root.name]}
        attributes = {"xmlns": SCXML, "version": "1.0", "name": _xml(chart.name), **initial}
        text = "\n".join(body)
        if "<rawko:" in text:
            attributes["xmlns:rawko"] = RAWKO
        needs_us = "<rawko:" in text or 'delayexpr="' in text or self._has_names()
        attributes["datamodel"] = OWN_DATA_MODEL if needs_us else "null"
        return ['<?xml version="1.0" encoding="UTF-8"?>', *_element("scxml", attributes, body)]

    def _is_bare(self, root: State) -> bool:
        """Whether the root says nothing that <scxml> cannot."""
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
        return _element(tag, attributes, self._inside(state))

    def _initial_attribute(self, state: State) -> dict[str, str]:
        if state.kind != "compound" or state.initial_actions or not state.initial:
            return {}
        return {"initial": self._names(state.initial)}

    def _inside(self, state: State) -> Lines:
        lines: Lines = []
        if state.initial_actions:
            lines += _element("initial", {}, self._default(state.initial, state.initial_actions))
        if state.is_history:
            targets = state.memory or self._instead_of_memory(state)
            return self._default(targets, state.memory_actions)
        lines += self._block("onentry", (*state.on_entry, *self._timers(state)))
        lines += self._block("onexit", (*state.on_exit, *(CancelAction(timer.event) for timer in state.after)))
        for transition in sorted(state.transitions, key=lambda each: -each.priority):
            lines += self._transition(transition)
        for invoke in state.invoke:
            lines += _element("invoke", {"type": "rawko", "id": _token(invoke.id), "src": _xml(invoke.src)}, [])
        lines += self._donedata(state)
        for child in state.children:
            lines += self._state(self._chart[child])
        return lines

    def _instead_of_memory(self, state: State) -> Sequence[str]:
        """SCXML wants a default: what the parent enters by itself."""
        parent = self._chart[state.parent or self._chart.root]
        if parent.kind == "parallel":
            return [name for name in parent.children if not self._chart[name].is_history]
        return parent.initial

    def _default(self, targets: Sequence[str], actions: Sequence[Action]) -> Lines:
        return _element("transition", {"target": self._names(targets)}, self._actions(actions))

    def _timers(self, state: State) -> Iterator[Action]:
        for timer in state.after:
            yield SendAction(timer.event, delay=timer.delay, id=timer.event, position=timer.position)

    def _donedata(self, state: State) -> Lines:
        if state.output is None or state.parent is None:
            return []
        if isinstance(state.output, str):
            self._lose(state.position, f"output {state.output!r} of {state.name!r} is left out: it is a bound function")
            return []
        content = _element("content", {}, [escape(_xml(json.dumps(_json(state.output))))])
        return _element("donedata", {}, content)

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
        return _element("transition", attributes, self._actions(transition.actions))

    def _is_of_the_root(self, transition: Transition) -> bool:
        """The root is never left; in SCXML it is an ordinary state, which `internal` keeps."""
        return transition.source == self._chart.root and is_internal(self._chart, transition)

    def _descriptor(self, transition: Transition, event: str) -> str:
        if event == "error.*" and "*" in transition.events:
            return "*"
        if event == "*" and "error.*" not in transition.events:
            self._lose(transition.position, f"{_of(transition)}: '*' takes errors and timers in SCXML, too")
        if event.startswith("error.invoke."):
            self._lose(transition.position, f"{_of(transition)}: SCXML has 'error.communication' for failed actors")
        longer = next((other for other in self._written if other.startswith(f"{event}.")), None)
        if longer is not None:
            self._lose(transition.position, f"{_of(transition)}: {event!r} takes {longer!r} in SCXML, too")
        return self._event(event, transition.position)

    def _event(self, event: str, place: Position) -> str:
        """SCXML's lists of events are separated by spaces; states keep their ids in events."""
        if event in self._own_events:
            return self._own_events[event]
        found = _token(event)
        if found != event:
            self._lose(place, f"event {event!r} is called {found!r}: SCXML's names hold no spaces")
        return found

    def _condition(self, guard: Guard) -> str:
        for leaf in leaves(guard):
            if not isinstance(leaf, InState):
                self._lose(leaf.position, f"guard {leaf.name!r} must be provided: SCXML's conditions are expressions")
        return _xml(_in(guard, self._ids))

    # ------------------------------------------------------------ actions

    def _block(self, tag: str, actions: Sequence[Action]) -> Lines:
        return _element(tag, {}, self._actions(actions)) if actions else []

    def _actions(self, actions: Iterable[Action]) -> Lines:
        return [line for action in flat(actions) for line in self._action(action)]

    def _action(self, action: Action) -> Lines:
        match action:
            case CallAction(name, arguments, position):
                self._lose(position, f"action {name!r} must be provided: it stands as <rawko:call>")
                return _element("rawko:call", {"action": _xml(format_call(name, arguments))}, [])
            case CodeAction(code, position):
                self._lose(position, "Python code is left out")
                return [f"<!-- {_xml(code).replace('--', '- -')} -->"]
            case AssignAction(values, position):
                self._lose(position, "literals into the context stand as <rawko:assign>")
                return _element("rawko:assign", {}, _params(values))
            case EmitAction(event, data, position):
                self._lose(position, f"event {event!r} for observers stands as <rawko:emit>")
                return _element("rawko:emit", {"event": self._event(event, position)}, _params(data))
            case RaiseAction(event, (), position):
                return _element("raise", {"event": self._event(event, position)}, [])
            case RaiseAction(event, data, position):
                attributes = {"event": self._event(event, position), "target": "#_internal"}
                return _element("send", attributes, _params(data))
            case SendAction():
                return self._send(action)
            case CancelAction(id):
                return _element("cancel", {"sendid": self._send_id(id)}, [])
            case LogAction(message):
                return _element("log", {"label": _xml(message)}, [])
            case BlockAction():
                raise AssertionError("blocks were gone into")
            case _:
                assert_never(action)

    def _send(self, action: SendAction) -> Lines:
        attributes = {"event": self._event(action.event, action.position)}
        if action.to is not None:
            attributes["target"] = f"#_{_token(action.to)}"
        if action.delay is not None:
            attributes |= self._delay(action.delay, action.position)
        if action.id is not None:
            attributes["id"] = self._send_id(action.id)
        return _element("send", attributes, _params(action.data))

    def _send_id(self, id: str) -> str:
        return self._own_events.get(id) or _token(id)

    def _delay(self, delay: Delay, place: Position) -> dict[str, str]:
        if isinstance(delay, NamedDelay):
            self._lose(place, f"delay {delay.name!r} must be provided: it stands as 'delayexpr'")
            return {"delayexpr": delay.name}
        assert isinstance(delay, FixedDelay)
        return {"delay": _css_time(delay.milliseconds)}

    # ------------------------------------------------------------ names and losses

    @property
    def _written(self) -> Iterator[str]:
        return (event for row in self._chart.transitions for event in row.events)

    def _id(self, state: State) -> str:
        found = free_name(_token(state.name), set(self._ids.values()))
        if found != state.name:
            self._lose(state.position, f"state {state.name!r} has the id {found!r}: ids hold no spaces")
        return found

    def _names(self, names: Iterable[str]) -> str:
        return " ".join(self._ids[name] for name in names)

    def _lose(self, place: Position, message: str) -> None:
        self.losses.once(place, message)

    def _tell(self) -> None:
        chart = self._chart
        root = chart[chart.root]
        if not self._is_bare(root) and any(chart[name].kind == "final" for name in root.children):
            self._lose(
                root.position, f"the machine does not end with its root {root.name!r}, a state of its own in SCXML"
            )
        silent: dict[str, Callable[[State], Any]] = {
            "descriptions": lambda state: state.description,
            "tags": lambda state: state.tags,
            "meta": lambda state: state.meta,
            "contracts": lambda state: state.contract or any(row.contract for row in state.transitions),
            "inputs, timeouts and 'on restore' of invocations": lambda state: any(
                row.input is not None or row.timeout or row.on_restore != "restart" for row in state.invoke
            ),
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


def _element(tag: str, attributes: dict[str, str], body: Lines) -> Lines:
    start = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    if not body:
        return [f"<{tag}{start}/>"]
    return [f"<{tag}{start}>", *(f"  {line}" for line in body), f"</{tag}>"]


def _params(data: Iterable[tuple[str, Json]]) -> Lines:
    """Literals as <param>, in JSON."""
    return [
        line
        for name, value in data
        for line in _element(
            "param", {"name": _xml(name), "expr": _xml(json.dumps(_json(value), ensure_ascii=False))}, []
        )
    ]


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def _in(guard: Guard, ids: dict[str, str]) -> str:
    """A guard with SCXML's `In('id')` for `in_state('name')`."""
    text = format_guard(guard)
    for leaf in leaves(guard):
        if isinstance(leaf, InState):
            text = text.replace(format_guard(leaf), f"In('{ids.get(leaf.state, leaf.state)}')")
    return text


def _css_time(milliseconds: float) -> str:
    text = delay_text(milliseconds)
    return text if text.endswith("s") else f"{int(milliseconds // 1000)}s"


def _token(name: str) -> str:
    """The nearest name without spaces, for ids and events."""
    wildcard = ".*" if name.endswith(".*") else ""
    if name == "*":
        return name
    return (_NOT_ID.sub("_", name.removesuffix(".*")).strip(".") or "_") + wildcard


def _of(transition: Transition) -> str:
    return f"transition of {transition.source!r}"


def _xml(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
