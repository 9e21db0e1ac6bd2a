"""What is wrong with the rules of a file, each with its place: its form, tools that there are not, agents that there
are not. States and patterns are checked where the tools and machines of the run are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rawko.config.agents import MCP_PREFIX, TOOLS
from rawko.tools.gate.rules import Rule, RuleError, parse_rule
from rawko.vocabulary.documents import Defect, Document, accepted


def rule_defects(document: Document, agents: Collection[str]) -> Iterator[Defect]:
    """The defects of the rules in a file, in its order; an entry that is no text is the file model's to report.

    Args:
        agents: The names of all agents; empty where they cannot be read: then these names are not checked.
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
    """Whether there may be such a tool; those of MCP servers are known when the servers run."""
    return rule.tool.startswith(MCP_PREFIX) or any(map(rule.is_about, (*TOOLS, MCP_PREFIX)))
