"""Verdicts as JUnit's XML: one test case for each property."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from rawko.proving.properties import Finding, Verdict
from rawko.proving.reports.steps import numbered_steps
from rawko.proving.system import ControlSystem

_ELEMENTS: Final = {Verdict.REFUTED: "failure", Verdict.UNDETERMINED: "error", Verdict.VOID: "skipped"}
_NOT_XML: Final = re.compile("[^\t\n\x20-\x7e\xa1-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(system: ControlSystem, findings: Sequence[Finding]) -> str:
    """A suite for the chart: refuted is a failure, undetermined an error, void is skipped."""
    chart = system.source
    count = {name: sum(_ELEMENTS.get(one.verdict) == name for one in findings) for name in _ELEMENTS.values()}
    suite = ET.Element(
        "testsuite",
        name=f"rawko prove {clean(chart.name)}",
        tests=str(len(findings)),
        failures=str(count["failure"]),
        errors=str(count["error"]),
        skipped=str(count["skipped"]),
    )
    for finding in findings:
        case = ET.SubElement(suite, "testcase", classname=clean(chart.name), name=finding.property)
        text = clean("\n".join([finding.text, *numbered_steps(system, finding)]))
        element = _ELEMENTS.get(finding.verdict)
        if element is None:
            ET.SubElement(case, "system-out").text = f"{finding.verdict.value}: {text}"
        else:
            ET.SubElement(case, element, message=clean(finding.text)).text = text
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def clean(text: str) -> str:
    """The text without characters that XML cannot contain, among them the bytes of a file name that are no UTF-8."""
    return _NOT_XML.sub("?", text)
