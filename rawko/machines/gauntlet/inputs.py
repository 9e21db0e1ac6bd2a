"""What the agents of a gauntlet are given, how many review at a time, and what it reports. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.gauntlet.context import GauntletContext

bindings = Bindings()
bindings.add("context", "GauntletContext", GauntletContext)


@bindings.input
def author_input(context: GauntletContext, event: Event) -> Any:
    """The task as it was given; from the second round on, what was found, in the author's own conversation."""
    agent = {"agent": context.parameters.author, "plan": context.plan, "seed": context.seed}
    if context.round == 1:
        return {**agent, "prompt": context.prompt, "messages": context.messages}
    values = {"task": context.prompt, "findings": _findings(context), "round": context.round}
    return {**agent, "template": "gauntlet/repair", "values": values, "messages": context.author_messages}


@bindings.input
def review_input(context: GauntletContext, event: Event, *, item: str) -> Any:
    """What one reviewer looks at."""
    values = {
        "task": context.prompt,
        "says": context.says,
        "files": list(context.files),
        "findings": _findings(context),
        "round": context.round,
    }
    return {"agent": item, "template": "gauntlet/review", "values": values, "seed": context.seed}


@bindings.input
def reviews_at_a_time(context: GauntletContext, event: Event) -> int:
    """How many reviewers look at the files side by side."""
    return context.parameters.at_a_time


@bindings.output
def gauntlet_report(context: GauntletContext, event: Event) -> Any:
    """What the run came to, as an agent's result (C-13), with the findings that are left."""
    return {
        "outcome": context.outcome,
        "summary": _summary(context),
        "error": context.error,
        "reason": context.reason,
        "files_changed": list(context.files),
        "iterations": context.round,
        "findings": _findings(context),
    }


def _summary(context: GauntletContext) -> str:
    found = "\n".join(_line(finding) for finding in context.findings)
    parts = (context.reason, context.says, f"Found in the last round:\n{found}" if found else "")
    return "\n\n".join(part for part in parts if part)


def _line(finding: Any) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    return f"- {finding.severity}{f', {place}' if place else ''}: {finding.text} ({', '.join(finding.reviewers)})"


def _findings(context: GauntletContext) -> list[Any]:
    return [
        {
            "severity": finding.severity,
            "path": finding.path,
            "line": finding.line,
            "text": finding.text,
            "reviewers": list(finding.reviewers),
        }
        for finding in context.findings
    ]
