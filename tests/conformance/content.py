"""Executable content of SCXML as one bound action: assign, log, raise, send, cancel, if, foreach, script.

An error ends the block and raises `error.execution`, as SCXML has it; what the block did before stays done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from rawko.interpreter import Updates, assign, cancel, log, raise_
from rawko.interpreter import send as send_update
from rawko.interpreter.updates import Raise
from tests.conformance.expressions import Expression, Scripts, Undefined, Unsupported

SCXML = "{http://www.w3.org/2005/07/scxml}"
EVENT_DATA = "_data"
"""Payload field that stands for a whole `_event.data` which is no object."""

Names = dict[str, Any]
Instruction = Callable[["Run"], None]


def tag(element: Element) -> str:
    """An element's name without its namespace."""
    return element.tag.removeprefix(SCXML)


@dataclass
class Run:
    """One execution of a block: names as they are now, and the updates so far."""

    names: Names
    updates: list[Any] = field(default_factory=list)
    sends: int = 0

    def assign(self, name: str, value: Any) -> None:
        if name not in self.names:
            raise Undefined(f"{name} is not declared")
        self.names[name] = value
        self.updates.append(assign(**{name: value}))


def event_names(event: Any) -> Names:
    """`_event` as scripts see it."""
    data = event.data
    return {"_event": {"name": event.name, "data": data.get(EVENT_DATA, data)}, "_sessionid": "session"}


class Blocks:
    """Compiles blocks of one document.

    Args:
        folder: Where `src` of scripts is looked up.
        names: Of the data model.
        is_active: For `In('state')`.
    """

    def __init__(self, folder: Path, is_active: Callable[[str], bool]) -> None:
        self.folder = folder
        self.is_active = is_active
        self.scripts = Scripts()

    def scope(self, context: Mapping[str, Any], event: Any) -> Names:
        return {**context, **event_names(event), "In": self.is_active}

    def script(self, element: Element) -> str:
        source = element.get("src")
        return (self.folder / source).read_text("utf-8") if source else element.text or ""

    def action(self, element: Element) -> Callable[[Any, Any], Updates]:
        """A block as an action of (context, event)."""
        body = self._body(element)

        def run_block(context: Any, event: Any) -> Updates:
            run = Run(self.scope(context, event))
            try:
                for instruction in body:
                    instruction(run)
            except (Undefined, TypeError, SyntaxError) as error:
                run.updates.append(raise_("error.execution", reason=str(error)))
            return run.updates

        return run_block

    def guard(self, text: str) -> Callable[[Any, Any], bool]:
        """A condition; one that throws is false, as SCXML has it."""
        expression = self.expression(text)

        def holds(context: Any, event: Any) -> bool:
            try:
                return bool(expression(self.scope(context, event)))
            except (Undefined, TypeError, SyntaxError):
                return False

        return holds

    def expression(self, text: str) -> Callable[[Names], Any]:
        """An expression; one that does not parse throws when it is evaluated."""
        try:
            return Expression(text)
        except SyntaxError as error:
            message = str(error)

            def throw(names: Names) -> Any:
                raise SyntaxError(message)

            return throw

    # ------------------------------------------------------------ instructions

    def _body(self, element: Element) -> list[Instruction]:
        return [self._instruction(child) for child in element]

    def _instruction(self, element: Element) -> Instruction:
        makers: dict[str, Callable[[Element], Instruction]] = {
            "assign": self._assign,
            "log": self._log,
            "raise": self._raise,
            "send": self._send,
            "cancel": self._cancel,
            "if": self._if,
            "foreach": self._foreach,
            "script": self._script,
        }
        maker = makers.get(tag(element))
        if maker is None:
            raise Unsupported(f"<{tag(element)}>")
        return maker(element)

    def _assign(self, element: Element) -> Instruction:
        location, value = element.attrib["location"], self.expression(element.attrib["expr"])
        return lambda run: run.assign(location, value(run.names))

    def _log(self, element: Element) -> Instruction:
        value = self.expression(element.get("expr", "''"))
        return lambda run: run.updates.append(log(str(value(run.names))))

    def _raise(self, element: Element) -> Instruction:
        return lambda run: run.updates.append(raise_(element.attrib["event"]))

    def _cancel(self, element: Element) -> Instruction:
        id = self._text(element, "sendid", "sendidexpr")
        return lambda run: run.updates.append(cancel(id(run.names)))

    def _script(self, element: Element) -> Instruction:
        assignments = self.scripts.assignments(self.script(element))

        def run_script(run: Run) -> None:
            for name, value in assignments:
                run.assign(name, value(run.names))

        return run_script

    def _if(self, element: Element) -> Instruction:
        branches: list[tuple[Callable[[Names], Any], list[Instruction]]] = []
        branches.append((self.expression(element.attrib["cond"]), []))
        for child in element:
            if tag(child) == "elseif":
                branches.append((self.expression(child.attrib["cond"]), []))
            elif tag(child) == "else":
                branches.append((lambda names: True, []))
            else:
                branches[-1][1].append(self._instruction(child))

        def choose(run: Run) -> None:
            for condition, body in branches:
                if condition(run.names):
                    for instruction in body:
                        instruction(run)
                    return

        return choose

    def _foreach(self, element: Element) -> Instruction:
        array, body = self.expression(element.attrib["array"]), self._body(element)
        item, index = element.attrib["item"], element.get("index")

        def repeat(run: Run) -> None:
            for number, value in enumerate(list(array(run.names))):
                run.assign(item, value)
                if index is not None:
                    run.assign(index, number)
                for instruction in body:
                    instruction(run)

        return repeat

    def _send(self, element: Element) -> Instruction:
        event = self._text(element, "event", "eventexpr")
        delay = self._text(element, "delay", "delayexpr", "0s")
        payload = self._payload(element)
        id, location = element.get("id"), element.get("idlocation")
        target = element.get("target")

        def run_send(run: Run) -> None:
            data = payload(run.names)
            own = id
            if location is not None:
                run.sends += 1
                own = f"send-{location}-{run.sends}"
                run.assign(location, own)
            if target == "#_internal":
                run.updates.append(Raise(event(run.names), data))
            else:
                delay_ms = milliseconds(delay(run.names))
                run.updates.append(send_update(event(run.names), data, delay_ms=delay_ms, id=own))

        return run_send

    def _payload(self, element: Element) -> Callable[[Names], Names]:
        named = [(name, self.expression(name)) for name in element.get("namelist", "").split()]
        for parameter in element.iter(f"{SCXML}param"):
            written = parameter.get("expr") or parameter.attrib["location"]
            named.append((parameter.attrib["name"], self.expression(written)))
        content = element.find(f"{SCXML}content")
        if content is None:
            return lambda names: {name: value(names) for name, value in named}
        if (text := content.get("expr")) is not None:
            value = self.expression(text)
            return lambda names: {EVENT_DATA: value(names)}
        literal = (content.text or "").strip()
        return lambda names: {EVENT_DATA: literal}

    def _text(self, element: Element, literal: str, computed: str, default: str = "") -> Callable[[Names], str]:
        if (expression := element.get(computed)) is not None:
            return self.expression(expression)
        text = element.get(literal, default)
        return lambda names: text


_DELAY = re.compile(r"^(\d*\.?\d+)(ms|s)$")


def milliseconds(text: str) -> float:
    """A CSS2 time, `10ms` or `.5s`."""
    found = _DELAY.match(text)
    if found is None:
        raise Unsupported(f"delay {text!r}")
    return float(found[1]) * (1 if found[2] == "ms" else 1000)


def elements(parent: Element, *tags: str) -> Iterator[Element]:
    """Direct children of these names, in document order."""
    return (child for child in parent if tag(child) in tags)
