"""Results of contracts as JUnit's XML: one suite per feature, one test case per scenario. The coverage of the chart is
stored in the suite's properties."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from rawko.proving.reports.junit import clean
from rawko.testing.coverage.table import MEASURES

if TYPE_CHECKING:
    from rawko.testing.coverage.counts import Coverage
    from rawko.testing.run import ContractResult, ScenarioResult

_ELEMENTS: Final = {"failed": "failure", "skipped": "skipped"}


def junit(result: ContractResult) -> str:
    """The XML. A failed scenario is a failure with its text; contracts that could not be run are errors of a suite of
    their own."""
    root = ET.Element("testsuites")
    covered = {Path(one.chart.file).with_suffix(".feature").resolve(): one for one in result.coverage}
    for feature, scenarios in groupby(result.scenarios, key=lambda one: one.feature):
        _suite(root, feature, list(scenarios), covered.get(Path(feature).resolve()))
    if result.errors:
        suite = ET.SubElement(root, "testsuite", name="rawko test", tests=str(len(result.errors)))
        suite.set("errors", str(len(result.errors)))
        for error in result.errors:
            case = ET.SubElement(suite, "testcase", classname="rawko test", name=clean(error.splitlines()[0]))
            ET.SubElement(case, "error", message=clean(error.splitlines()[0])).text = clean(error)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _suite(root: ET.Element, feature: str, scenarios: list[ScenarioResult], covered: Coverage | None) -> None:
    count = {name: sum(one.outcome == name for one in scenarios) for name in _ELEMENTS}
    suite = ET.SubElement(
        root,
        "testsuite",
        name=clean(feature),
        tests=str(len(scenarios)),
        failures=str(count["failed"]),
        errors="0",
        skipped=str(count["skipped"]),
        time=f"{sum(one.seconds for one in scenarios):.3f}",
    )
    if covered is not None:
        properties = ET.SubElement(suite, "properties")
        for measure, share in zip(MEASURES, covered.shares, strict=True):
            ET.SubElement(properties, "property", name=f"covered {measure}", value=str(share))
    for one in scenarios:
        case = ET.SubElement(
            suite, "testcase", classname=clean(feature), name=clean(one.scenario), time=f"{one.seconds:.3f}"
        )
        if (element := _ELEMENTS.get(one.outcome)) is not None:
            message = next((line for line in one.text.splitlines() if line.strip()), "")
            ET.SubElement(case, element, message=clean(message)).text = clean(one.text)
