"""Defects of the rules in a settings file, each with its place: malformed rules, unknown tools, unknown agents.

States and patterns are checked later, where the tools and machines of the run are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rawko.config.agents import MCP_PREFIX, TOOLS
from rawko.tools.gate.rules import Rule, RuleError, parse_rule
from rawko.vocabulary.documents import Defect, Document, accepted


def rule_defects(document: Document, agents: Collection[str]) -> Iterator[Defect]:
    """The defects of the rules in a file, in file order; entries that are not text are reported by the file model.

    Args:
        agents: The names of all agents; empty where they cannot be read: then names of agents are not checked.
    """
    rules = document.data.get("rules") if isinstance(document.data, Mapping) else None
    for number, text in enumerate(rules if isinstance(rules, list) else (), 1):
        for problem in _problems(text, agents) if isinstance(text, str) else ():
            told = RuleError(text, problem, number=number)
            yield Defect(document.source, *document.place(("rules", number - 1)), f"rules: {told}")


def _problems(text: str, agents: Collection[str]) -> Iterator[str]:
    try:
        rule = parse_rule(text)
    except RuleError as error:
        yield error.problem
        return
    if not _is_known(rule):
        yield f"unknown tool {rule.tool!r}{accepted(('*', *TOOLS), found=rule.tool)}"
    for name in rule.agents:
        if agents and name not in agents:
            yield f"there is no agent {name!r}{accepted(agents, found=name)}"


def _is_known(rule: Rule) -> bool:
    """Whether the rule's tool may exist; tools of MCP servers are known only when the servers run."""
    return rule.tool.startswith(MCP_PREFIX) or any(map(rule.is_about, (*TOOLS, MCP_PREFIX)))
