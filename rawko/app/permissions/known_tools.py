"""The tools that a run in a folder would have, and the settings' rules for them; no MCP server is started or asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from rawko.config import ConfigError, Settings
from rawko.tools.gate.possible import ToolFacts
from rawko.tools.gate.rules import Rule, RuleError, parse_rule, parse_rules
from rawko.tools.mcp import PREFIX
from rawko.vocabulary.agent_path import calls_agents


def known_tools(settings: Settings, kept: Sequence[Rule]) -> tuple[ToolFacts, ...]:
    """The tools of the toolbox; for each MCP server the tools that the settings name, and one entry for all others."""
    from rawko.tools.files.edit import Edit
    from rawko.tools.files.glob import Glob
    from rawko.tools.files.grep import Grep
    from rawko.tools.files.read import Read
    from rawko.tools.files.write import Write
    from rawko.tools.lookups.changes import Changes
    from rawko.tools.lookups.output import Output
    from rawko.tools.task import Task

    kinds = (Read, Write, Edit, Glob, Grep, Changes, Output)
    found = [ToolFacts(one.spec.name, one.pattern_kind, one.spec.is_read_only) for one in kinds]
    found.insert(5, ToolFacts("bash", "command"))  # as in the toolbox
    if any(map(calls_agents, settings.agents.values())):
        found.append(ToolFacts(Task.spec.name, Task.pattern_kind, Task.spec.is_read_only))
    for server in settings.mcp:
        beginning = f"{PREFIX}{server}__"
        found += [ToolFacts(name) for name in sorted(set(_named(settings, kept))) if name.startswith(beginning)]
        found.append(ToolFacts(f"{beginning}*", is_any=True))
    return tuple(found)


def rules_of(settings: Settings, tools: Iterable[ToolFacts], states: Collection[str]) -> tuple[Rule, ...]:
    """The rules of the settings, checked as a run checks them.

    Raises:
        ConfigError: A rule is malformed, or names an unknown tool, agent or state.
    """
    kinds = {tool.name: tool.pattern_kind for tool in tools}
    if settings.mcp:  # the names of servers' tools are known only while the servers run
        kinds |= {rule.tool: "none" for rule in _rules(settings) if rule.tool.startswith(PREFIX) and "*" in rule.tool}
    try:
        return parse_rules(settings.rules, kinds, agents=settings.agents, states=lambda: states)
    except RuleError as error:
        raise ConfigError(f"{settings.workspace / '.rawko' / 'config.yaml'}: rules: {error}") from error


def _named(settings: Settings, kept: Sequence[Rule]) -> Iterator[str]:
    """Names of servers' tools that agents' files and rules mention."""
    for agent in settings.agents.values():
        yield from (*(agent.tools.allowed or ()), *agent.tools.blocked)
    for rule in (*_rules(settings), *kept):
        if not any(character in rule.tool for character in "*?["):
            yield rule.tool


def _rules(settings: Settings) -> Iterator[Rule]:
    for text in settings.rules:
        try:
            yield parse_rule(text)
        except RuleError:
            continue  # reported where all rules are checked
