"""The verdict on the property `permissions`: untrusted content reaches no tool that writes outside."""

from __future__ import annotations

from typing import Final

from rawko.proving.exploring.exploration import Exploration
from rawko.proving.findings import Finding, ToolUse, Verdict, accepted_by, plural
from rawko.proving.permissions.flow import MAX_PLACES, Flows
from rawko.proving.permissions.places import ActAtPlace, Does, Flow
from rawko.proving.permissions.powers import ChartAgents

PERMISSIONS: Final = "permissions"
DESCRIPTION: Final = "No agent that has read untrusted content writes outside without a person's yes."
_DOES: Final[dict[Does, str]] = {
    "is told": "is told untrusted content",
    "reads": "reads untrusted content",
    "reads files": "reads what a tainted agent has written",
    "reads reports": "reads what a tainted agent has said",
    "writes files": "writes it into files",
    "takes over": "takes over",
    "runs files": "runs content of the files outside a sandbox",
    "writes": "writes outside",
}


def permissions(found: Exploration, casting: ChartAgents) -> Finding:
    """No agent that has read untrusted content writes outside without a person's approval."""
    if not casting.by_invocation:
        return Finding(PERMISSIONS, Verdict.VOID, "the chart runs no agents and no tools")
    flows = Flows(found, casting)
    flow = flows.search()
    if flow is not None:
        finding = _refuted(flow)
    elif not found.is_complete:
        finding = Finding(PERMISSIONS, Verdict.UNDETERMINED, "not all states were explored")
    elif flows.is_cut:
        finding = Finding(PERMISSIONS, Verdict.UNDETERMINED, f"more than {MAX_PLACES} places of agents")
    else:
        several = f"{len(flows)} place{plural(len(flows))} of agents"
        text = f"untrusted content gets to no tool that writes outside without a person's yes, in {several}"
        finding = Finding(PERMISSIONS, Verdict.PROVED, text)
    return accepted_by(found.system.bounds, finding)


def _refuted(flow: Flow) -> Finding:
    *_, (_, last) = flow.acts
    read = next((placed for _, placed in flow.acts if placed.does in ("is told", "reads")), None)
    source = "" if read is None else f"{_who(read)} {_DOES[read.does]} with {read.act.tool}; then "
    text = f"{source}{_who(last)} {_DOES[last.does]} with {last.act.tool}; no person says yes between them"
    uses = tuple(
        ToolUse(after, placed.act.agent, placed.act.tool, placed.does, _told(placed)) for after, placed in flow.acts
    )
    return Finding(PERMISSIONS, Verdict.REFUTED, text, flow.way, flow.end, uses=uses)


def _who(placed: ActAtPlace) -> str:
    return f"agent {placed.act.agent}" if placed.act.agent else "the machine"


def _told(placed: ActAtPlace) -> str:
    act = placed.act
    asked = "a person says yes; " if act.is_asked else ""
    rule = f" ({asked}{act.rule})" if act.rule else ""
    return f"{_who(placed)} {_DOES[placed.does]} with {act.tool}{rule}"
