"""The one gate in front of all tools: may this agent make this call, and which rule says so.

In order: the agent's own tools, the rules (the first that matches decides; of a command line with several commands the
strictest counts), else the default: what only reads is allowed, the rest asks. `--yes` and a person's approvals turn
"ask" into "allow"; nothing turns a "deny".

Limits, plainly: a rule for bash is a rail, not a wall. It reads the command line (`rawko.tools.shell`), not what the
programs do: a script, make or an interpreter can run anything. Where the line itself cannot be read for sure, a rule
that denies asks, and where nobody is asked (`--yes`) it denies. In the sandbox a rule that denies a whole program is
held by what is executed (`rawko.tools.sandbox.stand_ins`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rawko.patterns.globs import rule_regex
from rawko.runtime.ports import GateVerdict
from rawko.tools.base import CommandSubject, PathSubject, Subject, Tool
from rawko.tools.gate.approvals import Approvals
from rawko.tools.gate.matching import HIDDEN_COMMAND, Fit, fit_command, fit_path
from rawko.tools.gate.rules import Rule
from rawko.tools.sandbox.stand_ins import StandIns
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall

_Weight = Literal["allow", "ask", "doubt", "deny"]
_STRICTNESS: Mapping[_Weight, int] = {"allow": 0, "ask": 1, "doubt": 2, "deny": 3}


_MAX_COMMANDS: Final = 5_000
"""Different commands of one line that are compared with the rules; of more the rest is a doubt."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """What the rules say, before approvals. "doubt": a deny rule may be meant; only a person can tell."""

    weight: _Weight
    rule: str
    reason: str = ""


class Gate:
    """Decides on calls.

    Args:
        agents: Every agent of the session and its tools; an agent that is not in it may do nothing.
        active_states: The machine's active states, for rules that name states; None: such rules are an error.
        stand_ins: What the sandbox mounts for rules about commands; None: commands run in no sandbox.

    Raises:
        ValueError: A rule names states, but nobody tells the active ones.
    """

    def __init__(
        self,
        *,
        agents: Mapping[str, ToolAccess],
        rules: Sequence[Rule],
        assume_yes: bool,
        approvals: Approvals,
        active_states: Callable[[], Collection[str]] | None = None,
        stand_ins: Callable[[Sequence[Rule]], StandIns] | None = None,
    ) -> None:
        stateful = next((rule for rule in rules if rule.states), None)
        if stateful is not None and active_states is None:
            raise ValueError(f"rule {str(stateful)!r} names states, but the gate is not told the active states")
        self._agents, self._rules, self._assume_yes = dict(agents), tuple(rules), assume_yes
        self._approvals, self._active_states = approvals, active_states or (lambda: ())
        self._stand_ins = stand_ins or (lambda rules: StandIns())

    def refusal(self, agent: str, tool: str) -> GateVerdict | None:
        """Why the agent may not use the tool at all; None where it may."""
        access = self._agents.get(agent)
        if access is None:
            known = ", ".join(sorted(self._agents)) or "none"
            return GateVerdict("deny", "agent access", f"agent {agent!r} is not known here (known: {known})")
        if access.permits(tool):
            return None
        rule = "blocked" if tool in access.blocked else "allowed"
        return GateVerdict("deny", f"agent {agent}: tools.{rule}", f"agent {agent!r} may not use {tool!r}")

    def verdict(self, agent: str, call: ToolCall, tool: Tool, subject: Subject) -> GateVerdict:
        """Whether a call of a tool that the agent has may run."""
        finding = self._finding(agent, tool, subject)
        if finding.weight == "allow":
            return GateVerdict("allow", finding.rule, finding.reason)
        if finding.weight == "deny":
            return GateVerdict("deny", finding.rule, finding.reason)
        approval = self._approvals.covering(agent, call)
        if approval == "once" or (approval is not None and finding.weight == "ask"):
            return GateVerdict("allow", f"approved: {approval}", finding.reason)
        if not self._assume_yes:
            return GateVerdict("ask", finding.rule, finding.reason)
        if finding.weight == "doubt":
            return GateVerdict("deny", finding.rule, finding.reason)
        return GateVerdict("allow", "--yes", finding.reason)

    def hidden(self, agent: str, tool: Tool) -> tuple[str, ...]:
        """Paths, as regular expressions, that a search of many files leaves out: what may not be read is not found."""
        names = ("*", "read", tool.spec.name)
        return tuple(
            rule_regex(rule.pattern)
            for rule in self._active(agent)
            if rule.decision == "deny" and rule.pattern is not None and rule.tool in names
        )

    def mounts(self, agent: str, tool: Tool) -> tuple[str, ...]:
        """What keeps programs that deny rules name from being executed in the sandbox."""
        if tool.pattern_kind != "command":
            return ()
        return self._stand_ins(self._about_commands(agent, tool)).options

    def _about_commands(self, agent: str, tool: Tool) -> list[Rule]:
        rules = (rule for rule in self._active(agent) if rule.is_about(tool.spec.name))
        return [rule for rule in rules if _concerns_commands(rule)]

    def _active(self, agent: str) -> Iterator[Rule]:
        """The rules for an agent in the states that are active now."""
        states = frozenset(self._active_states())
        own = (rule for rule in self._rules if not rule.agents or agent in rule.agents)
        return (rule for rule in own if not rule.states or not states.isdisjoint(rule.states))

    def _finding(self, agent: str, tool: Tool, subject: Subject) -> _Finding:
        if isinstance(subject, CommandSubject):
            about = self._about_commands(agent, tool)
            return _strictest_command(subject.command, about, tool, self._stand_ins(about).held)
        rules = [rule for rule in self._active(agent) if rule.is_about(tool.spec.name)]
        match subject:
            case None:
                return _first(((rule, _bare(rule)) for rule in rules), tool)
            case PathSubject():
                return _first(((rule, fit_path(rule, subject)) for rule in rules), tool)


def _bare(rule: Rule) -> Fit:
    return "yes" if rule.pattern is None else "no"


def _concerns_commands(rule: Rule) -> bool:
    """`*(pattern)` is about paths."""
    return rule.tool != "*" or rule.pattern is None


def _strictest_command(command: str, rules: Sequence[Rule], tool: Tool, held: Collection[Rule]) -> _Finding:
    """What the strictest of its commands gets. A doubt about a rule that the sandbox holds is none: should the command
    turn out to be a denied one, it is not executed."""
    from rawko.tools.shell.reader import read_script  # here, because most starts of rawko read no command line

    script = read_script(command)
    commands = list(dict.fromkeys(script.commands))
    doubt = script.doubt or ("it holds too many commands" if len(commands) > _MAX_COMMANDS else "")
    del commands[_MAX_COMMANDS:]
    if doubt or not commands:
        commands.append(HIDDEN_COMMAND)
    findings = []
    for simple in commands:
        why = doubt if simple is HIDDEN_COMMAND else f"in {simple.text!r}" if len(commands) > 1 else ""
        fits = ((rule, fit_command(rule, simple)) for rule in rules)
        sure = ((rule, "no" if fit == "maybe" and rule in held else fit) for rule, fit in fits)
        findings.append(_first(sure, tool, why))
    return max(findings, key=lambda finding: _STRICTNESS[finding.weight])


def _first(fits: Iterator[tuple[Rule, Fit]], tool: Tool, why: str = "") -> _Finding:
    """What the first rule that fits says; a doubt is kept while later rules may be stricter."""
    doubt: _Finding | None = None
    for rule, fit in fits:
        if fit == "no":
            continue
        finding = _Finding(*_weigh(rule, fit, why))
        if finding.weight != "doubt":
            break
        doubt = doubt or finding
    else:
        finding = _default(tool)
    if doubt is None or finding.weight == "deny":
        return finding
    return doubt


def _weigh(rule: Rule, fit: Fit, why: str) -> tuple[_Weight, str, str]:
    if fit == "maybe" and rule.decision == "deny":
        reason = "it cannot be told whether this command is one that the rule denies"
        hint = "write it as plain commands, without substitutions or other programs around it"
        return "doubt", str(rule), f"{reason}{f' ({why})' if why else ''}; {hint}"
    return rule.decision, str(rule), why


def _default(tool: Tool) -> _Finding:
    if tool.spec.is_read_only:
        return _Finding("allow", "default: reading is allowed")
    return _Finding("ask", f"default: {tool.spec.name} asks")
