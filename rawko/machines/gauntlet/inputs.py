"""The inputs of the agents of a gauntlet, the number of reviews at a time, and its report. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.gauntlet.context import GauntletContext

bindings = Bindings()
bindings.add("context", "GauntletContext", GauntletContext)


@bindings.input
def author_input(context: GauntletContext, event: Event) -> Any:
    """The task as given; from the second round on the findings, in the author's own conversation."""
    agent = {"agent": context.parameters.author, "plan": context.plan, "seed": context.seed}
    if context.round == 1:
        return {**agent, "prompt": context.prompt, "messages": context.messages}
    values = {"task": context.prompt, "findings": _findings(context), "round": context.round}
    return {**agent, "template": "gauntlet/repair", "values": values, "messages": context.author_messages}


@bindings.input
def review_input(context: GauntletContext, event: Event, *, item: str) -> Any:
    """The input of one reviewer: task, author's summary, changed files, and the findings of the round before."""
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
    """Number of reviewers that run side by side."""
    return context.parameters.at_a_time


@bindings.output
def gauntlet_report(context: GauntletContext, event: Event) -> Any:
    """The result of the gauntlet in the form of an agent's result (C-13), with the findings of the last round."""
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
