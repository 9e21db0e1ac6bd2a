"""SCXML's Python data model: the variables of one machine, and the words (built-in functions) that its code may use.

| word | what it does |
|---|---|
| `In(state)` | whether a state is active |
| `_event`, `_sessionid`, `_name`, `_ioprocessors` | system variables, read-only |
| `assign(location, value)` | SCXML's assign: the variable must exist |
| `raise_(event)`, `send(event, ...)`, `cancel(id)`, `log(label, value)` | SCXML's content |
| `holds(lambda: x)`, `each(x)` | conditions and arrays of SCXML's if and foreach: failures become error events |
| `bind(name, lambda: x)` | a variable of late binding gets its first value, once |
| `invoked(...)`, `xml(text)`, `invalid(message)` | an invocation's input, a value, an error found in the document |

Code is compiled once and runs unrestricted, as Python: only charts that the caller trusts are run here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rawko.interpreter.data.events import ENVELOPE, INIT
from rawko.interpreter.data.updates import Cancel, Log, Raise, Send, Update
from rawko.interpreter.foreign.scxml_code import SYSTEM, Names, assigned, assignment, compiled, place_of, root_of
from rawko.interpreter.foreign.scxml_values import (
    HTTP_TYPES,
    SCXML_PROCESSOR,
    SCXML_TYPES,
    Attributes,
    DataModelError,
    EventView,
    milliseconds,
    revived,
    xml_value,
)

if TYPE_CHECKING:
    from rawko.interpreter.data.events import Event

BOUND = "_bound"
"""The variable that lists the late-bound variables with a value; snapshots contain it like other variables."""

_NOTHING: Any = object()


class DataModel:
    """The data of one machine.

    Args:
        given: Values of variables that the chart declares, by name: they replace the chart's first values.
        is_active: Whether a state is active, for `In`.
        apply: Applies an update that executable content makes.
        tell: Reports an error that does not end its block.
        number: Returns a number that no earlier send has.
        is_reachable: Whether a target of `send` is a machine that can receive events.
        http_location: The machine's address at SCXML's basic HTTP event processor; None if it has none.
    """

    def __init__(
        self,
        *,
        name: str,
        session_id: str,
        given: Mapping[str, Any],
        is_active: Callable[[str], bool],
        apply: Callable[[Update], None],
        tell: Callable[[str, Exception], None],
        number: Callable[[], int],
        is_reachable: Callable[[str], bool],
        http_location: str | None = None,
    ) -> None:
        self.names = Names()
        self.location = f"#_scxml_{session_id}"
        self._session_id = session_id
        self._given = given
        self._apply = apply
        self._tell = tell
        self._number = number
        self._is_reachable = is_reachable
        self._http_location = http_location
        self._seen: Event | None = None
        processors = {name: Attributes(location=self.location) for name in ("scxml", SCXML_PROCESSOR)}
        if http_location is not None:
            processors |= {name: Attributes(location=http_location) for name in sorted(HTTP_TYPES)}
        words: dict[str, Any] = {
            "In": is_active,
            "_sessionid": session_id,
            "_name": name,
            "_ioprocessors": Attributes(processors),
            "assign": self.assign,
            "bind": self.bind,
            "cancel": self.cancel,
            "each": each,
            "holds": self.holds,
            "invalid": invalid,
            "invoked": self.invoked,
            "log": self.log,
            "raise_": self.raise_,
            "send": self.send,
            "xml": xml_value,
            "true": True,
            "false": False,
            "null": None,
        }
        for word, value in words.items():
            self.names.provide(word, value)

    # ------------------------------------------------------------ code

    def start(self, preamble: str) -> None:
        """Run the preamble, statement by statement: if one fails, report it and set the variable that it assigns to
        None.
        """
        try:
            statements = ast.parse(preamble).body
        except SyntaxError as error:
            self._tell("preamble", error)
            return
        for statement in statements:
            self._start_one(statement)

    def _start_one(self, statement: ast.stmt) -> None:
        name = assigned(statement)
        if name is not None and name in self._given:
            self.names[name] = revived(self._given[name])
            return
        try:
            exec(compile(ast.Module([statement], []), "<preamble>", "exec"), self.names)  # noqa: S102 - trusted
        except Exception as error:  # noqa: BLE001 - the chart's own code
            self._tell("preamble", error)
            if name is not None and name not in self.names:
                self.names[name] = None

    def execute(self, code: str, event: Event) -> None:
        """Run statements."""
        self._see(event)
        exec(compiled(code, "exec"), self.names)  # noqa: S102 - trusted

    def evaluate(self, code: str, event: Event) -> Any:
        """The value of an expression."""
        self._see(event)
        return eval(compiled(code, "eval"), self.names)  # noqa: S307 - trusted

    def _see(self, event: Event) -> None:
        if event is self._seen:
            return
        self._seen = event
        if event.name == INIT:  # unbound before the first event
            dict.pop(self.names, "_event", None)
        else:
            self.names.provide("_event", EventView(event, self.location))

    # ------------------------------------------------------------ words

    def assign(self, location: str, value: Any) -> None:
        """Assign a variable, or a place inside one.

        Raises:
            DataModelError: The variable is not declared, or is read-only.
        """
        place = place_of(location)
        root = root_of(place)
        if root in SYSTEM:
            raise DataModelError(f"{root} cannot be assigned: system variables are read-only")
        if root not in self.names or root in self.names.words:
            raise DataModelError(f"{root!r} is not declared")
        if isinstance(place, ast.Name):
            self.names[root] = value
        else:
            exec(assignment(location), self.names, {"_value": value})  # noqa: S102 - trusted

    def bind(self, name: str, first: Callable[[], Any]) -> None:
        """Assign a variable of late binding its first value; later calls do nothing."""
        bound = self.names.get(BOUND, [])
        if name in bound:
            return
        self.names[BOUND] = [*bound, name]
        self.names[name] = revived(self._given[name]) if name in self._given else first()

    def holds(self, condition: Callable[[], Any]) -> bool:
        """Whether a condition is true; a failing condition is false, and its error is reported."""
        try:
            return bool(condition())
        except Exception as error:  # noqa: BLE001 - the chart's own code
            self._tell("condition", error)
            return False

    def log(self, label: str = "", value: Any = _NOTHING) -> None:
        """Write a line to the log."""
        parts = [str(label)] if label else []
        self._apply(Log(": ".join([*parts, *([] if value is _NOTHING else [str(value)])]) or "log"))

    def raise_(self, event: str, data: Mapping[str, Any] | None = None) -> None:
        """Queue an event internally."""
        self._apply(Raise(event, dict(data or {})))

    def cancel(self, id: str) -> None:
        """Cancel a delayed send."""
        self._apply(Cancel(str(id)))

    def send(
        self,
        event: Any = "",
        *,
        target: Any = None,
        type: Any = None,
        delay: Any = None,
        id: str | None = None,
        idlocation: str | None = None,
        data: Mapping[str, Any] | None = None,
        content: Any = _NOTHING,
    ) -> None:
        """Send an event, as SCXML's `<send>` does.

        Args:
            target: `#_internal`, `#_parent`, `#_<invoke id>`, `#_scxml_<session id>`, or with the type `basichttp` an
                address; this machine by default.
            delay: A CSS2 time.
            idlocation: The variable that receives the id of the send.
            content: The data, if it is not an object.

        Raises:
            DataModelError: The event cannot be sent; the error carries the id of the send.
        """
        if idlocation is not None:
            id = f"send_{self._number()}"
            self.assign(idlocation, id)
        try:
            wait = 0 if delay in (None, "") else milliseconds(delay)
            to = self._receiver(target, type)
            if not isinstance(event, str) or not (event.strip() or type in HTTP_TYPES):
                raise DataModelError(f"{event!r} is no name of an event")
        except DataModelError as error:
            raise DataModelError(str(error), sendid=id, error_event=error.error_event) from None
        said = {key: value for key, value in (("sendid", id), ("content", content)) if value not in (None, _NOTHING)}
        if content is None:
            said["content"] = None
        if to is _INTERNAL:
            self._apply(Raise(event, _payload(data, said)))
        else:
            if to is not None:
                said["origin"] = self.location
            self._apply(Send(event, _payload(data, said), to, wait, id))

    def _receiver(self, target: Any, type: Any) -> Any:
        """The recipient of an event; None for this machine."""
        if self._http_location is not None and type in HTTP_TYPES:
            return _address(target)
        if type not in SCXML_TYPES:
            raise DataModelError(f"type {type!r} is not supported; accepted: 'scxml', {SCXML_PROCESSOR!r}")
        if target in (None, "") or target == self.location:
            return None
        if not isinstance(target, str) or not target.startswith("#_") or len(target) == 2:
            accepted = "'#_internal', '#_parent', '#_<invoke id>', '#_scxml_<session id>'"
            raise DataModelError(f"target {target!r} is none of {accepted}")
        if target == "#_internal":
            return _INTERNAL
        to = target.removeprefix("#_scxml_") if target.startswith("#_scxml_") else target.removeprefix("#_")
        if not self._is_reachable(to):
            raise DataModelError(f"no machine {target!r} is running", error_event="error.communication")
        return to

    def invoked(self, id: str = "", *, idlocation: str | None = None, **said: Any) -> dict[str, Any]:
        """The input of an invocation; `idlocation` is the variable that receives its id."""
        if idlocation is not None:
            self.assign(idlocation, id)
        return said


_INTERNAL: Any = object()


def _address(target: Any) -> str:
    if not isinstance(target, str) or not target.startswith(("http://", "https://")):
        message = f"target {target!r} is no address; accepted: http://..., https://..."
        raise DataModelError(message, error_event="error.communication")
    return target


def _payload(data: Mapping[str, Any] | None, said: dict[str, Any]) -> dict[str, Any]:
    return {**(data or {}), **({ENVELOPE: said} if said else {})}


def each(array: Any) -> list[Any]:
    """A list of the present items of an array.

    Raises:
        DataModelError: It is not a collection.
    """
    if isinstance(array, (str, bytes)) or not isinstance(array, Iterable):
        raise DataModelError(f"{array!r:.60} ({type(array).__name__}) is no array")
    return list(array)


def invalid(message: str) -> Any:
    """Raise an error that the import found in the document, when its place is executed.

    Raises:
        DataModelError: Always.
    """
    raise DataModelError(message)
