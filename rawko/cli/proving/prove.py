"""`rawko prove CHART`: explores a chart, prints the verdicts; the exit code says the worst of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import rawko
from rawko.chart import Chart, ChartError, load_chart
from rawko.chart.errors import nearest
from rawko.cli.authoring.chart_files import NoSuchChart, chart_file
from rawko.cli.authoring.charts import bindings_of
from rawko.cli.output import complain, visible_json, visible_line, write_out
from rawko.cli.proving.monitors import read_monitors
from rawko.cli.proving.pictures import why_no_picture_folder, write_pictures
from rawko.cli.proving.progress import Progress
from rawko.cli.proving.scenarios import NoScenario, WrittenScenario, scenario_of, why_no_folder, write_scenarios
from rawko.extras import require
from rawko.named_files import why_unwritable
from rawko.proving import (
    NO_BOUNDS,
    PROPERTIES,
    BoundsError,
    ControlSystem,
    Exploration,
    Finding,
    Move,
    Outcome,
    Verdict,
    explore,
    read_bounds,
    replay,
)
from rawko.proving.bounds import bounds_beside
from rawko.proving.monitoring.monitor import MonitorStep, assumed_of, heard_by, unknown_guards
from rawko.proving.monitoring.product import finding_name
from rawko.proving.naming import unknown_names
from rawko.proving.permissions.checking import PERMISSIONS
from rawko.proving.permissions.checking import permissions as check_permissions
from rawko.proving.reduction.split import SplitExploration, explore_split
from rawko.proving.reduction.verdicts import check_all, check_monitors
from rawko.proving.reports.junit import junit
from rawko.proving.reports.sarif import sarif
from rawko.proving.reports.steps import numbered_steps
from rawko.proving.skeleton import NotProvable
from rawko.render.errors import RenderError
from rawko.trust.errors import ConfigError

if TYPE_CHECKING:
    from rawko.app.permissions.casting import Permissions

Found: TypeAlias = Exploration | SplitExploration
REFUTED: Final = 1
UNDETERMINED: Final = 3


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where results go beside standard output."""

    sarif: Path | None = None
    junit: Path | None = None
    write: Path | None = None
    draw: Path | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the permissions of the current folder's agents.

    Attributes:
        table: Print what each agent can do in each state.
        assume_yes, sandbox: As `rawko run` would be given them; `sandbox` None: as the settings say.
    """

    table: bool = False
    assume_yes: bool = False
    sandbox: bool | None = None


def prove_command(
    path: Path,
    *,
    properties: Sequence[str],
    bounds: Path | None,
    limit: int,
    as_json: bool,
    trusted: bool,
    bindings: str | None = None,
    outputs: Outputs = Outputs(),
    monitors: Sequence[str] = (),
    asked: Asked = Asked(),
    is_split: bool = True,
) -> int:
    """Print counts, what was abstracted, and each verdict with its counterexample.

    Args:
        asked: About the permissions of the agents of the current folder.
        is_split: Whether regions that share nothing are explored one by one.

    Returns:
        0: all that was asked is proved; 1: something is refuted; 3: something is undetermined; 2: bad input.
    """
    known = (*PROPERTIES, PERMISSIONS)
    for name in properties:
        if name not in known:
            near = nearest(name, list(known))
            hint = f"; did you mean {near!r}?" if near else ""
            return complain(f"there is no property {name!r}{hint}; accepted: {', '.join(known)}")
    with_permissions = PERMISSIONS in properties or asked.table
    if (asked.assume_yes or asked.sandbox is not None) and not with_permissions:
        return complain("--yes and --sandbox are about what agents may do: --property permissions, or --table")
    try:
        file = chart_file(path)
        chart = load_chart(file, trusted=trusted)
        bounds = bounds or bounds_beside(file)
        said = NO_BOUNDS if bounds is None else read_bounds(bounds)
        functions = bindings_of(chart, file, bindings) if said.context or bindings else None
        watching = read_monitors(monitors, chart, bindings=bindings, trusted=trusted)
        system = ControlSystem(chart, said, functions, heard=heard_by(watching))
        permissions = _read_permissions(system, file, asked) if with_permissions else None
    except (NoSuchChart, ChartError, BoundsError, NotProvable, LookupError, ConfigError) as error:
        return complain(str(error))
    if strange := unknown_guards(system, watching):
        return complain("\n".join(strange))
    if unknown := list(unknown_names(system, [*known, *map(finding_name, watching)])):
        return complain("\n".join(f"{bounds}: {one}" for one in unknown))
    if (problem := _why_no_output(outputs, file)) is not None:
        return complain(problem)
    with Progress(limit) as progress:
        explored = explore_split if is_split else explore
        found = explored(system, limit=limit, progress=progress)
        findings = _check(found, properties, watching, permissions)
    assumed = [*assumptions(system), *assumed_of(watching)]
    if permissions is not None:
        assumed += permissions.casting.assumed
    replays = [replay(system, (*finding.way, *finding.turns)) for finding in findings]
    if as_json:
        document = _document(chart, found, assumed, findings, replays)
        if permissions is not None and asked.table:
            from rawko.cli.proving.permissions import table_document

            document["permissions"] = table_document(_together(found), permissions)
        print(visible_json(document))
    else:
        for line in _lines(chart, found, assumed, findings, replays):
            print(visible_line(line))
        if permissions is not None and asked.table:
            from rawko.cli.proving.permissions import table_lines

            for line in table_lines(_together(found), permissions):
                print(visible_line(line))
    if written := _write(outputs, file, found, findings):
        return written
    verdicts = {finding.verdict for finding in findings}
    if Verdict.REFUTED in verdicts:
        return REFUTED
    return UNDETERMINED if Verdict.UNDETERMINED in verdicts else 0


def _read_permissions(system: ControlSystem, file: Path, asked: Asked) -> Permissions:
    require("agents", "rawko prove --property permissions")
    from rawko.cli.proving.permissions import read_permissions

    return read_permissions(system, file, assume_yes=asked.assume_yes, sandbox=asked.sandbox)


def _check(
    found: Found, properties: Sequence[str], watching: Sequence[MonitorStep], permissions: Permissions | None
) -> list[Finding]:
    """The verdicts; that on permissions is last, and alone where only the table was asked for."""
    names = [name for name in properties if name != PERMISSIONS]
    is_only = permissions is not None and not names
    if is_only:
        findings = check_monitors(found, watching)
    else:
        findings = check_all(found, names, watching)
    return findings if permissions is None else [*findings, check_permissions(_together(found), permissions.casting)]


def _together(found: Found) -> Exploration:
    """All regions together: agents of different ones may be at work at the same time."""
    return found if isinstance(found, Exploration) else found.whole(PERMISSIONS)


def _why_no_output(outputs: Outputs, chart: Path) -> str | None:
    """Said before anything is explored: a long exploration is not to end with a path that was typed wrong."""
    for output in (outputs.sarif, outputs.junit):
        if output is not None and (problem := why_unwritable(output)) is not None:
            return problem
    if outputs.draw is not None and (problem := why_no_picture_folder(outputs.draw)) is not None:
        return problem
    return None if outputs.write is None else why_no_folder(outputs.write, chart)


def _write(outputs: Outputs, file: Path, found: Found, findings: Sequence[Finding]) -> int:
    """Write what was asked for; 0, or the exit code for a file that cannot be written."""
    if outputs.sarif is not None:
        text = visible_json(sarif(found.system, findings, rawko.__version__))
        if problem := write_out(text, outputs.sarif):
            return problem
    if outputs.junit is not None and (problem := write_out(junit(found.system, findings), outputs.junit)):
        return problem
    if outputs.draw is not None and (problem := _draw(outputs.draw, found, findings)):
        return problem
    if outputs.write is None:
        return 0
    scenarios: list[WrittenScenario] = []
    for finding in findings:
        if not finding.way:
            continue
        try:
            scenarios.append(scenario_of(found.system, finding))
        except NoScenario as error:
            print(visible_line(f"rawko: {finding.property}: no scenario: {error}"), file=sys.stderr)
    if not scenarios:
        return 0
    try:
        feature = write_scenarios(outputs.write, file, found.system.source.name, scenarios)
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"{outputs.write}: cannot be written: {error}")
    several = f"{len(scenarios)} scenarios" if len(scenarios) > 1 else "1 scenario"
    print(visible_line(f"wrote {feature}: {several}"), file=sys.stderr)
    return 0


def _draw(folder: Path, found: Found, findings: Sequence[Finding]) -> int:
    """0, or the exit code for a folder that cannot be written."""
    try:
        written = write_pictures(folder, found.system, findings)
    except RenderError as error:
        return complain(f"{found.system.source.name}: {error}")
    except OSError as error:
        return complain(f"{error.filename or folder}: cannot be written: {error.strerror}")
    for path in written:
        print(visible_line(f"wrote {path}"), file=sys.stderr)
    if not written:
        print("rawko: there is no counterexample to draw", file=sys.stderr)
    return 0


def _lines(
    chart: Chart, found: Found, assumed: Sequence[str], findings: Sequence[Finding], replays: Sequence[str]
) -> list[str]:
    states, ways = _counted(len(found), "configuration"), _counted(found.edge_count, "way")
    lines = [f"{chart.name}: {states}, {ways} between them", *_told_parts(found)]
    lines += [f"not complete: {reason}" for reason in found.unknown]
    lines += [f"assumed: {text}" for text in assumed]
    for finding, difference in zip(findings, replays, strict=True):
        lines.append(f"{finding.verdict.value:<13}{finding.property}: {finding.text}")
        if not finding.way:
            continue
        lines += [f"    {line}" for line in numbered_steps(found.system, finding)]
        lines.append(
            f"    not confirmed by the interpreter: {difference}" if difference else "    confirmed by the interpreter"
        )
    return lines


def _told_parts(found: Found) -> list[str]:
    """What was explored part by part, and what as a whole."""
    if isinstance(found, Exploration):
        return []
    groups = [group for every in found.division.groups.values() for group in every]
    kind = "regions" if all(len(group) == 1 for group in groups) else "groups of regions"
    lines = [f"{len(groups)} {kind} that share nothing were explored one by one"]
    if found.is_complete:
        several = f"{_counted(len(found), 'configuration')} stand{'s' if len(found) == 1 else ''}"
        lines[0] += f": {several} for {found.count:,}"
    if found.asked_whole:
        whole = found.explored_whole
        names = ", ".join(found.asked_whole)
        lines.append(f"all regions together were explored for {names}: {_counted(len(whole), 'configuration')}")
        lines += [f"not complete, for {names}: {reason}" for reason in whole.unknown]
    return lines


def assumptions(system: ControlSystem) -> list[str]:
    """What the verdicts rest on, said with every result."""
    guards = system.step.bindings.names("guard")
    texts = ["bound functions raise and send no events but those that the bounds name"]
    free = len(guards - system.step.data.computed)
    if free:
        several = f"{free} guards may be true or false, whatever they compute"
        texts.insert(0, several if free > 1 else "1 guard may be true or false, whatever it computes")
    data = system.step.data
    if data.values:
        texts.append(f"context fields {', '.join(data.values)} have the values of the bounds; all others may have any")
    elif system.bounds.context:
        texts.append("the context's bounds are not used: the chart's functions are called only with --bindings")
    outside = [name for name in system.events if name not in system.bounds.actor_events]
    if outside:
        texts.append(f"a person sends {', '.join(outside)}")
    return texts


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _document(
    chart: Chart, found: Found, assumed: Sequence[str], findings: Sequence[Finding], replays: Sequence[str]
) -> dict[str, Any]:
    return {
        "chart": chart.name,
        "configurations": len(found),
        "transitions": found.edge_count,
        **_counted_parts(found),
        "complete": found.is_complete,
        "unknown": list(found.unknown),
        "assumed": list(assumed),
        "properties": [
            {
                "property": finding.property,
                "verdict": finding.verdict.value,
                "text": finding.text,
                "steps": [_step(found, *step) for step in finding.way],
                "round": [list(names) for names in finding.round],
                "turns": [_step(found, *step) for step in finding.turns],
                **({"uses": [asdict(use) for use in finding.uses]} if finding.uses else {}),
                "confirmed": bool(finding.way) and not difference,
            }
            for finding, difference in zip(findings, replays, strict=True)
        ],
    }


def _counted_parts(found: Found) -> dict[str, Any]:
    if isinstance(found, Exploration):
        return {}
    whole: dict[str, Any] = {"properties": list(found.asked_whole)}
    if found.asked_whole:
        whole |= {"configurations": len(found.explored_whole), "complete": found.explored_whole.is_complete}
    return {"regions": {"groups": found.division.count, "stand_for": found.count, "together": whole}}


def _step(found: Found, move: Move, outcome: Outcome) -> dict[str, Any]:
    return {
        "kind": move.kind,
        "event": move.event,
        "subject": move.subject,
        "guards": [{"guard": name, "answer": answer} for name, answer in outcome.answers],
        "configuration": [] if outcome.problem else list(found.system.step.names(outcome.control)),
    }
