"""Verdicts as SARIF 2.1.0, the format in which code hosts show findings of analysers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from rawko.chart.definition import Position
from rawko.proving.permissions.checking import DESCRIPTION, PERMISSIONS
from rawko.proving.properties import PROPERTIES, Finding, Verdict
from rawko.proving.reports.steps import StepText, step_texts
from rawko.proving.system import ControlSystem

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Verdict.REFUTED: "error", Verdict.UNDETERMINED: "warning", Verdict.ACCEPTED: "note"}
_KINDS: Final = {Verdict.PROVED: "pass", Verdict.VOID: "notApplicable"}


def sarif(system: ControlSystem, findings: Sequence[Finding], version: str) -> dict[str, Any]:
    """One run with one result for each verdict; a counterexample is its code flow.

    Args:
        version: Version of rawko.
    """
    rules = [
        {"id": f"prove/{name}", "shortDescription": {"text": (check.__doc__ or name).splitlines()[0]}}
        for name, check in PROPERTIES.items()
        if any(finding.property == name for finding in findings)
    ]
    rules += [
        {"id": f"prove/{finding.property}", "shortDescription": {"text": _described(finding)}}
        for finding in findings
        if finding.property not in PROPERTIES
    ]
    driver = {"name": "rawko", "version": version, "rules": rules}
    results = [_result(system, finding) for finding in findings]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _described(finding: Finding) -> str:
    return DESCRIPTION if finding.property == PERMISSIONS else f"The {finding.property} never objects."


def _result(system: ControlSystem, finding: Finding) -> dict[str, Any]:
    steps = step_texts(system, finding)
    level = _LEVELS.get(finding.verdict)
    result: dict[str, Any] = {
        "ruleId": f"prove/{finding.property}",
        "level": level or "none",
        "kind": _KINDS.get(finding.verdict, "fail"),
        "message": {"text": f"{finding.verdict.value}: {finding.text}"},
        "locations": [_location(place) for place in _places(system, finding, steps)],
    }
    if finding.verdict is Verdict.ACCEPTED:
        result["suppressions"] = [{"kind": "external", "justification": finding.text}]
    if steps:
        locations = [{"location": {**_location(one.position), "message": {"text": one.text}}} for one in steps]
        result["codeFlows"] = [{"threadFlows": [{"locations": locations}]}]
    return result


def _places(system: ControlSystem, finding: Finding, steps: Sequence[StepText]) -> Iterable[Position]:
    if finding.places:
        return finding.places
    return [steps[-1].position if steps else system.source.position]


def _location(place: Position) -> dict[str, Any]:
    region = {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)}
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(os.fsencode(PurePath(place.file).as_posix()))},
            "region": region,
        },
    }
