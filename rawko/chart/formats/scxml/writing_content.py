"""Writes actions as SCXML's executable content; also keeps the names, ids and losses of the document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from rawko.chart.definition import (
    Action,
    AssignAction,
    BlockAction,
    CallAction,
    CancelAction,
    Chart,
    CodeAction,
    CodeValue,
    Delay,
    EmitAction,
    FixedDelay,
    Invoke,
    Json,
    LogAction,
    NamedDelay,
    Position,
    RaiseAction,
    SendAction,
    flat,
)
from rawko.chart.errors import ChartSyntaxError
from rawko.chart.expressions.formatting import format_call
from rawko.chart.formats.exchange import Losses
from rawko.chart.formats.scxml import code_elements, code_parts
from rawko.chart.formats.scxml.invoking import SCXML_ACTOR
from rawko.chart.formats.scxml.markup import Lines, css_time, element, params, token, xml
from rawko.chart.formats.scxml.source import PYTHON
from rawko.chart.formats.scxml.xml import inline_xml


class ContentWriter:
    """Writes the actions of one chart.

    Attributes:
        is_python: The document uses Python's data model.
        has_named_delay: A delay is written by its name, which only rawko's own documents may contain.
    """

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self.losses = Losses()
        self.is_python = chart.data_model == PYTHON
        self.has_named_delay = False
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()
        self._own_events: dict[str, str] = {}

    def actions(self, actions: Iterable[Action]) -> Lines:
        """The elements of all actions, in order."""
        return [line for action in flat(actions) for line in self._action(action)]

    def _action(self, action: Action) -> Lines:
        match action:
            case CallAction(name, arguments, position):
                self._lose(position, f"action {name!r} must be provided: it is written as <rawko:call>")
                return element("rawko:call", {"action": xml(format_call(name, arguments))}, [])
            case CodeAction(code, position):
                if self.is_python:
                    return code_elements.elements(code)
                self._lose(position, "Python code is left out: it uses sismic's names")
                return [f"<!-- {xml(code).replace('--', '- -')} -->"]
            case AssignAction(values, position):
                self._lose(position, "literals into the context are written as <rawko:assign>")
                return element("rawko:assign", {}, self._params(values))
            case EmitAction(event, data, position):
                self._lose(position, f"event {event!r} for observers is written as <rawko:emit>")
                return element("rawko:emit", {"event": self._event(event, position)}, self._params(data))
            case RaiseAction(event, (), position):
                return element("raise", {"event": self._event(event, position)}, [])
            case RaiseAction(event, data, position):
                attributes = {"event": self._event(event, position), "target": "#_internal"}
                return element("send", attributes, self._params(data))
            case SendAction():
                return self._send(action)
            case CancelAction(id):
                return element("cancel", {"sendid": self._send_id(id)}, [])
            case LogAction(message):
                return element("log", {"label": xml(message)}, [])
            case BlockAction():
                raise AssertionError("blocks are written by their actions")
            case _:
                assert_never(action)

    def _params(self, data: Iterable[tuple[str, Json]]) -> Lines:
        return params(data, is_python=self.is_python)

    def _send(self, action: SendAction) -> Lines:
        attributes = {"event": self._event(action.event, action.position)}
        if action.to is not None:
            attributes["target"] = f"#_{token(action.to)}"
        if action.delay is not None:
            attributes |= self._delay(action.delay, action.position)
        if action.id is not None:
            attributes["id"] = self._send_id(action.id)
        return element("send", attributes, self._params(action.data))

    def _send_id(self, id: str) -> str:
        return self._own_events.get(id) or token(id)

    def _delay(self, delay: Delay, place: Position) -> dict[str, str]:
        if isinstance(delay, NamedDelay):
            self._lose(place, f"delay {delay.name!r} must be provided: it is written as 'delayexpr'")
            self.has_named_delay = True
            return {"delayexpr": delay.name}
        assert isinstance(delay, FixedDelay)
        return {"delay": css_time(delay.milliseconds)}

    def _event(self, event: str, place: Position) -> str:
        """A valid SCXML event name: spaces separate names in SCXML; ids of states in event names stay as written."""
        if event in self._own_events:
            return self._own_events[event]
        found = token(event)
        if found != event:
            self._lose(place, f"event {event!r} is called {found!r}: SCXML's names hold no spaces")
        return found

    def _lose(self, place: Position, message: str) -> None:
        self.losses.once(place, message)

    # ------------------------------------------------------------ handlers and invocations

    def handlers(self, tag: str, actions: tuple[Action, ...], timers: tuple[Action, ...]) -> Lines:
        """Each block is written as a separate handler."""
        groups: list[tuple[Action, ...]] = []
        for action in actions:
            if isinstance(action, BlockAction):
                groups.append(action.actions)
            elif groups and not isinstance(actions[actions.index(action) - 1], BlockAction):
                groups[-1] += (action,)
            else:
                groups.append((action,))
        if any(isinstance(each, BlockAction) for each in actions):
            plain = [each for each in actions if not isinstance(each, BlockAction)]
            if plain:
                self._lose(plain[0].position, "actions before and after a block are written as separate handlers")
        if timers and (not groups or self._chart.errors == "rollback"):
            groups = [*groups[:-1], (*(groups[-1] if groups else ()), *timers)]
        elif timers:
            groups.append(timers)
        return [line for group in groups for line in element(tag, {}, self.actions(group))]

    def invocation(self, invoke: Invoke) -> Lines:
        found = self._invoked(invoke)
        if found is None:
            attributes: dict[str, str] = {"type": "rawko", "src": xml(invoke.src)}
            body: Lines = []
            if isinstance(invoke.input, CodeValue) and self.is_python:
                body = self._param_elements(invoke, invoke.input.code)
            elif isinstance(invoke.input, Mapping):
                body = params(invoke.input.items(), is_python=self.is_python)
            elif invoke.input is not None:
                self._lose(invoke.position, f"input of invoke {invoke.id!r} is left out: it is bound, or code")
        else:
            attributes, body = found
        attributes = {"id": token(invoke.id), **attributes}
        if invoke.autoforward:
            attributes["autoforward"] = "true"
        if invoke.finalize:
            body = [*body, *element("finalize", {}, self.actions(invoke.finalize))]
        return element("invoke", attributes, body)

    def _invoked(self, invoke: Invoke) -> tuple[dict[str, str], Lines] | None:
        """The attributes and content of an invoked document; None for other actors."""
        if invoke.src != SCXML_ACTOR:
            return None
        if isinstance(invoke.input, CodeValue):
            return code_parts.invocation_elements(invoke.input.code) if self.is_python else None
        if not isinstance(invoke.input, Mapping) or not isinstance(invoke.input.get("content"), str):
            return None
        data = params(invoke.input.get("data", {}).items(), is_python=self.is_python)
        try:
            return {"type": "scxml"}, [*data, f"<content>{inline_xml(invoke.input['content'])}</content>"]
        except ChartSyntaxError:
            return None

    def _param_elements(self, invoke: Invoke, code: str) -> Lines:
        found = code_parts.output_elements(code)
        inside = [line.removeprefix("  ") for line in found[1:-1]]
        if not all(line.startswith("<param ") for line in inside):
            self._lose(invoke.position, f"input of invoke {invoke.id!r} is left out: it is no list of fields")
            return []
        return inside
