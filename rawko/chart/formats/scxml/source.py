"""What an import of SCXML works on: defects, losses, ids of states, and what the document says of its data model."""

from __future__ import annotations

import json
from typing import NoReturn

from rawko.chart.definition import Json
from rawko.chart.errors import Diagnostic, shown
from rawko.chart.formats.exchange import Losses
from rawko.chart.formats.names import free_name, printable
from rawko.chart.formats.scxml.xml import XmlElement
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.reading.types import READERS
from rawko.chart.yaml_nodes import Document, ScalarNode

STATES = ("state", "parallel", "final", "history")
OWN_DATA_MODEL = "rawko"


class Source:
    """One document being imported."""

    def __init__(self, root: XmlElement, file: str) -> None:
        self.root = root
        # The reader collects findings; the text was read as XML already.
        self.reader = Reader(Document(ScalarNode("", None, None, 1, 1), "", file), READERS, is_trusted=False)
        self.losses = Losses()
        self.is_own = root.attributes.get("datamodel") == OWN_DATA_MODEL
        self._names: dict[int, str] = {}
        self._name_all()

    def _name_all(self) -> None:
        """Names of states: their ids, and free ones for those without."""
        elements = list(self._states(self.root))
        taken = {element.attributes["id"] for element in elements if element.attributes.get("id")}
        name = printable(self.root.attributes.get("name", "scxml"))
        self._names[id(self.root)] = free_name(name, taken)
        taken.add(self._names[id(self.root)])
        for element in elements:
            given = element.attributes.get("id")
            found = printable(given) if given else free_name(element.tag, taken)
            taken.add(found)
            self._names[id(element)] = found

    def _states(self, element: XmlElement) -> list[XmlElement]:
        return [found for child in element.of(*STATES) for found in (child, *self._states(child))]

    def name(self, element: XmlElement) -> str:
        return self._names[id(element)]

    def names_inside(self, element: XmlElement) -> list[str]:
        """Names of all states below one, in document order."""
        return [self.name(found) for found in self._states(element)]

    # ------------------------------------------------------------ findings

    def report(self, code: str, element: XmlElement, message: str) -> None:
        self.reader.report(code, element.position, message)

    def fail(self, code: str, element: XmlElement, message: str) -> NoReturn:
        self.report(code, element, message)
        raise Unreadable

    def lost(self, element: XmlElement, message: str) -> None:
        self.losses.add(element.position, message)

    def needs_data_model(self, element: XmlElement, what: str) -> NoReturn:
        """Refuse what only a data model can evaluate."""
        message = f"{what} needs a data model; what needs none is imported: name a bound guard or action instead"
        self.fail("needs-data-model", element, message)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self.reader.diagnostics

    # ------------------------------------------------------------ values

    def required(self, element: XmlElement, attribute: str) -> str:
        value = element.attributes.get(attribute, "").strip()
        if not value:
            self.fail("missing-key", element, f"<{element.tag}> needs the attribute {attribute!r}")
        return value

    def literal(self, element: XmlElement, text: str, what: str) -> Json:
        """A literal expression: JSON, or a text in single quotes; all else needs a data model."""
        text = text.strip()
        if len(text) > 1 and text[0] == text[-1] == "'" and "'" not in text[1:-1] and "\\" not in text:
            return text[1:-1]
        try:
            return json.loads(text, parse_constant=_refuse)
        except ValueError:
            self.needs_data_model(element, f"{what} {shown(text)}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
