"""Reads `<invoke>`: child documents (run by the actor `scxml`) and bound actors.

The invocation's input passes data to the child: `content` (the document's text) or `src` (its file), and `data` (values
for its variables). A file that the document names is read at the import, so that the chart needs no other file.
"""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import Action, CodeAction, CodeValue, Json
from rawko.chart.errors import ChartSyntaxError, shown
from rawko.chart.formats.names import printable
from rawko.chart.formats.scxml import python_code
from rawko.chart.formats.scxml.content import block, parameters
from rawko.chart.formats.scxml.data import value
from rawko.chart.formats.scxml.source import Source
from rawko.chart.formats.scxml.xml import XmlElement, inner_xml, outer_xml, read_xml
from rawko.chart.reading.reader import Unreadable
from rawko.chart.reading.transitions import InvokeDraft

SCXML_ACTOR = "scxml"
"""The name of the bound actor that runs a document."""

_SCXML_TYPES = frozenset(("scxml", "http://www.w3.org/TR/scxml/", "http://www.w3.org/TR/scxml"))
_KNOWN = frozenset(("type", "typeexpr", "src", "srcexpr", "id", "idlocation", "namelist", "autoforward"))
_COMPUTED = ("typeexpr", "srcexpr", "idlocation", "namelist")


def invocations(source: Source, element: XmlElement) -> list[InvokeDraft]:
    """All invocations of a state."""
    found: list[InvokeDraft] = []
    for place, child in enumerate(element.of("invoke")):
        try:
            found.append(_invocation(source, element, child, place))
        except Unreadable:
            continue
    return found


def _invocation(source: Source, owner: XmlElement, element: XmlElement, place: int) -> InvokeDraft:
    _check(source, element)
    id = printable(element.attributes.get("id", "").strip() or f"{source.name(owner)}.invoke{place}")
    src, given = _actor_and_input(source, element, id)
    forwarded = element.attributes.get("autoforward", "false").strip()
    if forwarded not in ("true", "false"):
        source.fail("invalid-value", element, f"autoforward is 'true' or 'false', found {shown(forwarded)}")
    draft = InvokeDraft(element.position, src, id, element.position, given, autoforward=forwarded == "true")
    for finalize in element.of("finalize"):
        draft.finalize = block(source, finalize)
        if not finalize.children and source.is_code:
            draft.finalize = tuple(_assign_returned(source, element, finalize))
    return draft


def _assign_returned(source: Source, element: XmlElement, finalize: XmlElement) -> Iterator[Action]:
    """An empty <finalize> assigns the values that come back to the variables whose values were sent."""
    places = {name: name for name in element.attributes.get("namelist", "").split()}
    for child in element.of("param"):
        if "location" in child.attributes:
            places[source.required(child, "name")] = child.attributes["location"].strip()
    for name, location in places.items():
        condition = f"holds(lambda: {name!r} in (_event.data or {{}}))"
        yield CodeAction(f"if {condition}:\n    assign({location!r}, _event.data[{name!r}])", finalize.position)


def _check(source: Source, element: XmlElement) -> None:
    extra = [name for name in element.attributes if name not in _KNOWN and " " not in name]
    extra += [
        f"<{child.tag}>" for child in element.children
        if child.tag not in ("param", "content", "finalize") and not child.tag.startswith("{")
    ]  # fmt: skip
    if extra:
        message = f"invoke with {', '.join(extra)} is not read; accepted: {', '.join(sorted(_KNOWN))}"
        source.fail("unknown-key", element, message)
    if not source.is_code:
        for attribute in _COMPUTED:
            if attribute in element.attributes:
                source.needs_data_model(element, attribute)


def _actor_and_input(source: Source, element: XmlElement, id: str) -> tuple[str, Json | CodeValue]:
    """The actor's name and its input."""
    if not _is_document(source, element):
        src = printable(source.required(element, "src"))
        source.lost(element, f"invoke {shown(src)} is no document here: bind an actor of that name")
        if source.is_code:
            data = python_code.fields(source, element)
            return src, None if data is None else value(data, element)
        return src, parameters(source, element) or None
    if not source.is_code:
        return SCXML_ACTOR, _literal(source, element)
    return SCXML_ACTOR, CodeValue(f"invoked({', '.join(_arguments(source, element, id))})", element.position)


def _is_document(source: Source, element: XmlElement) -> bool:
    """Whether the invocation runs an SCXML document."""
    type = element.attributes.get("type")
    if type is not None:
        return type.strip() in _SCXML_TYPES
    if source.is_code or any(element.of("content")):
        return True
    return element.attributes.get("src", "").endswith((".scxml", ".xml"))


def _literal(source: Source, element: XmlElement) -> Json:
    """The input of an invocation that needs no data model."""
    found: dict[str, Json] = {}
    for child in element.of("content"):
        found["content"] = inner_xml(child).strip()
    if "src" in element.attributes:
        found["content"] = _document(source, element, element.attributes["src"])
    data = {child.attributes.get("name", ""): child for child in element.of("param")}
    if data:
        found["data"] = {
            name: source.literal(child, source.required(child, "expr"), "expr") for name, child in data.items()
        }
    if "content" not in found:
        source.fail("missing-key", element, "<invoke> needs 'src' or <content>")
    return found


def _document(source: Source, element: XmlElement, src: str) -> str:
    """The text of a document in a file."""
    try:
        return outer_xml(read_xml(source.read(element, src), src))
    except ChartSyntaxError as error:
        source.fail("unreadable-src", element, f"src {shown(src)}: {error}")


def _arguments(source: Source, element: XmlElement, id: str) -> list[str]:
    given = element.attributes
    found = [repr(id)]
    if "idlocation" in given:
        found.append(f"idlocation={given['idlocation']!r}")
    if "typeexpr" in given:
        found.append(f"type={python_code.expression(given['typeexpr'])}")
    if "srcexpr" in given:
        found.append(f"src={python_code.expression(given['srcexpr'])}")
    elif "src" in given:
        found.append(f"content={_document(source, element, given['src'])!r}")
    for child in element.of("content"):
        written = child.attributes.get("expr")
        code = python_code.expression(written) if written is not None else repr(inner_xml(child).strip())
        found.append(f"content={code}")
    if (data := python_code.fields(source, element)) is not None:
        found.append(f"data={data}")
    return found
