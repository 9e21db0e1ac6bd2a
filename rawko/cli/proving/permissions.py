"""`rawko prove --property permissions`: reads the folder's agents, tools and rules for a chart; prints their table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rawko.app.permissions.casting import Permissions, Use
from rawko.app.permissions.casts import WITHIN
from rawko.app.permissions.table import Row, table
from rawko.app.run.parts.charts import PATTERNS
from rawko.chart import shipped_charts
from rawko.cli.settings import settings_of_next_run
from rawko.config import Flags
from rawko.config.patterns import with_pattern
from rawko.proving import ControlSystem, Exploration
from rawko.tools.gate.possible import Answer
from rawko.trust.kept_rules import KeptRules

UNTRUSTED: Final = "<"
OUTSIDE: Final = ">"
_DECISIONS: Final = ("allow", "ask", "deny")


def read_permissions(system: ControlSystem, file: Path, *, assume_yes: bool, sandbox: bool | None) -> Permissions:
    """The agents, tools and rules of the current folder, for a chart.

    Args:
        file: File of the chart.
        assume_yes, sandbox: The options of a run.

    Raises:
        ConfigError: The settings, an agent or an entry of the bounds cannot be used.
    """
    settings = settings_of_next_run(Flags(assume_yes=assume_yes or None, sandbox=sandbox))
    if file.stem in PATTERNS and file.stem in shipped_charts():
        settings = with_pattern(settings, file.stem, {})
    kept = KeptRules(settings.workspace).current()
    return Permissions(system.source, file, system.bounds, settings, kept, system.events)


def table_lines(found: Exploration, permissions: Permissions) -> Iterator[str]:
    """The table as lines for people."""
    rows = list(table(found, permissions))
    yield f"tools by state and agent ({UNTRUSTED} reads untrusted content, {OUTSIDE} writes outside):"
    for (state, when), group in groupby(rows, key=lambda row: (row.state, row.when)):
        yield f"  {state}{' with ' if when else ''}{', '.join(when)}"
        listed = [(agent, uses) for row in group for agent, uses in _by_agent(row)]
        width = max((len(agent) for agent, _ in listed), default=0)
        for agent, uses in listed:
            yield from _agent_lines(agent.ljust(width), uses)


def _by_agent(row: Row) -> Iterator[tuple[str, list[Use]]]:
    """An agent's own uses of tools, then the uses of each agent that it calls."""
    for path, uses in groupby(row.uses, key=lambda use: use.agent):
        named = row.agent if path == row.agent.rpartition(WITHIN)[2] else path
        yield named, list(uses)


def _agent_lines(agent: str, uses: Sequence[Use]) -> Iterator[str]:
    for decision in _DECISIONS:
        tools = [tool for use in uses for tool in _tools(use, decision)]
        if tools:
            yield f"    {agent}  {decision.ljust(5)}  {', '.join(tools)}"
            agent = " " * len(agent)


def _tools(use: Use, decision: str) -> Iterator[str]:
    for answer, nature in zip(use.answers, use.natures, strict=True):
        if answer.decision == decision:
            marks = f"{UNTRUSTED * nature.is_untrusted}{OUTSIDE * nature.is_outside}" if decision != "deny" else ""
            yield f"{use.tool.name}{'' if answer.pattern is None else f'({answer.pattern})'}{marks}"


def table_document(found: Exploration, permissions: Permissions) -> list[dict[str, Any]]:
    """The table as JSON data."""
    return [
        {
            "state": row.state,
            "invocation": row.invocation,
            "when": list(row.when),
            "agent": row.agent if use.agent == row.agent.rpartition(WITHIN)[2] else use.agent,
            "tool": use.tool.name,
            "answers": [
                {
                    **_answer_document(answer),
                    "untrusted": nature.is_untrusted,
                    "outside": nature.is_outside,
                }
                for answer, nature in zip(use.answers, use.natures, strict=True)
            ],
        }
        for row in table(found, permissions)
        for use in row.uses
    ]


def _answer_document(answer: Answer) -> dict[str, Any]:
    return {"decision": answer.decision, "rule": answer.rule, "pattern": answer.pattern}
