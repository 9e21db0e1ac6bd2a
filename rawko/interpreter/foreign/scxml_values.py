"""Values of SCXML's Python data model: JSON outside the machine, plain Python for code.

Objects are read by key and by attribute; XML is an element of `xml.etree.ElementTree`. Times are CSS2's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, XMLParser, tostring

from rawko.interpreter.data.events import ENVELOPE, Event, InternalEvent, InvocationEvent

SCXML_PROCESSOR = "http://www.w3.org/TR/scxml/#SCXMLEventProcessor"
SCXML_TYPES = frozenset((None, "", "scxml", SCXML_PROCESSOR, "http://www.w3.org/TR/scxml/"))
HTTP_PROCESSOR = "http://www.w3.org/TR/scxml/#BasicHTTPEventProcessor"
HTTP_TYPES = frozenset(("basichttp", HTTP_PROCESSOR))
XML = "_xml"
"""Key of the object that represents an XML element in JSON."""

_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h)?", re.ASCII)
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


class DataModelError(ValueError):
    """Code of a chart requested something that the data model refuses.

    Attributes:
        sendid: Of the send that failed, or None.
        error_event: Name of the event that reports it: `error.execution` or `error.communication`.
    """

    def __init__(self, message: str, *, sendid: str | None = None, error_event: str = "error.execution") -> None:
        super().__init__(message)
        self.sendid = sendid
        self.error_event = error_event


class ProcessorType(str):
    """The type of SCXML's event processor: its URI, which is equal to the short name `scxml`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "scxml" or str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Attributes(dict[str, Any]):
    """An object whose fields can also be read as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; fields: {', '.join(map(repr, self)) or 'none'}") from None

    def __deepcopy__(self, memo: Any) -> Attributes:
        from copy import deepcopy

        return Attributes({key: deepcopy(value, memo) for key, value in self.items()})


class XmlValue(Element):
    """An XML element as a value, with the methods of ElementTree (`findall`, `get`, `text`, ...)."""

    def to_json(self) -> dict[str, str]:
        return {XML: tostring(self, encoding="unicode")}


class _Builder:
    """Builds `XmlValue`s; refuses document types, so that entities can neither expand without bound nor load files."""

    def __init__(self) -> None:
        self._open: list[XmlValue] = []
        self._root: XmlValue | None = None
        self._last: XmlValue | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = XmlValue(tag, attributes)
        if self._open:
            self._open[-1].append(element)
        else:
            self._root = element
        self._open.append(element)
        self._last = None

    def end(self, tag: str) -> None:
        self._last = self._open.pop()

    def data(self, text: str) -> None:
        if self._last is not None:
            self._last.tail = (self._last.tail or "") + text
        elif self._open:
            self._open[-1].text = (self._open[-1].text or "") + text

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise DataModelError("a document type is refused: values hold no entities")

    def close(self) -> XmlValue | None:
        return self._root


def xml_value(text: str) -> XmlValue:
    """The element that a text contains.

    Raises:
        DataModelError: The text is not XML, or has a document type.
    """
    parser = XMLParser(target=_Builder())
    try:
        parser.feed(text)
        found = parser.close()
    except SyntaxError as error:
        raise DataModelError(f"no XML: {error}") from None
    if not isinstance(found, XmlValue):
        raise DataModelError("no XML: no element found")
    return found


def revived(value: Any) -> Any:
    """JSON data as code sees it; always a copy."""
    if isinstance(value, Mapping):
        if len(value) == 1 and isinstance(text := value.get(XML), str):
            return xml_value(text)
        return Attributes({key: revived(item) for key, item in value.items()})
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") or isinstance(value, Element):
        return value
    return [revived(item) for item in value]


def milliseconds(text: Any) -> float:
    """A CSS2 time, such as `1s`, `.5s` or `150ms`, in milliseconds.

    Raises:
        DataModelError: The text is not a CSS2 time.
    """
    found = _TIME.fullmatch(str(text).strip())
    if found is None or (found[2] is None and float(found[1])):
        raise DataModelError(f"delay {text!r} is no time; accepted: '2s', '.5s', '150ms'")
    return float(found[1]) * _UNITS.get(found[2], 1)


class EventView:
    """`_event`: an event as SCXML describes it, read-only.

    Attributes:
        type: "platform" for the machine's own events (`error.*`, `done.state.*`), "internal" for raised ones, else
            "external".
        sendid, origin, origintype, invokeid: None if the event has none.
        data: None, an object, or any value that was sent as content.
        raw: The HTTP message, if the event came over HTTP.
    """

    __slots__ = ("_event", "_known", "invokeid", "name", "origin", "origintype", "raw", "sendid", "type")

    name: str
    type: str
    sendid: str | None
    origin: str | None
    origintype: str | None
    invokeid: str | None
    raw: str | None
    _event: Event
    _known: list[Any]

    def __init__(self, event: Event, own_location: str) -> None:
        said: Mapping[str, Any] = event.data.get(ENVELOPE, {})
        kind = _type(event)
        is_external = kind == "external"
        values: dict[str, Any] = {
            "name": event.name,
            "type": kind,
            "sendid": said.get("sendid"),
            "origin": said.get("origin", None if isinstance(event, InvocationEvent) else own_location)
            if is_external
            else None,
            "origintype": said.get("origintype", ProcessorType(SCXML_PROCESSOR)) if is_external else None,
            "invokeid": event.id if isinstance(event, InvocationEvent) else None,
            "raw": said.get("raw"),
            "_event": event,
            "_known": [],
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def data(self) -> Any:
        """The data, converted at the first reading: most events are never read."""
        known = self._known
        if not known:
            known.append(_data(self._event, self._event.data.get(ENVELOPE, {})))
        return known[0]

    def __setattr__(self, name: str, value: Any) -> None:
        raise DataModelError(f"_event.{name} cannot be assigned: system variables are read-only")

    def __delattr__(self, name: str) -> None:
        raise DataModelError(f"_event.{name} cannot be deleted: system variables are read-only")

    def __deepcopy__(self, memo: Any) -> EventView:
        return self

    def __repr__(self) -> str:
        return f"_event({', '.join(f'{name}={getattr(self, name)!r}' for name in ('name', 'type', 'data'))})"


def _type(event: Event) -> str:
    if event.name.startswith(("error.", "done.state.")):
        return "platform"
    return "internal" if isinstance(event, InternalEvent) else "external"


def _data(event: Event, said: Mapping[str, Any]) -> Any:
    if "content" in said:
        return revived(said["content"])
    if event.name.startswith(("done.state.", "done.invoke.")):
        return revived(event.data.get("output"))
    fields = {key: value for key, value in event.data.items() if key != ENVELOPE}
    return revived(fields) if fields else None
