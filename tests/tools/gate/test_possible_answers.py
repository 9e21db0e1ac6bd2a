"""What the gate may answer, worked out from rules alone, is what the real gate answers to each call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rawko.runtime.ports import ToolOutcome, ToolSpec
from rawko.tools.base import Arguments, Run, Tool, object_schema
from rawko.tools.commands.bash import Bash, BashSettings
from rawko.tools.commands.leftovers import Leftovers
from rawko.tools.files.paths import Folder
from rawko.tools.files.read import Read
from rawko.tools.files.write import Write
from rawko.tools.gate.approvals import Approvals
from rawko.tools.gate.gate import Gate
from rawko.tools.gate.possible import STRICTNESS, PossibleAnswers, States, ToolFacts, weakest
from rawko.tools.gate.rules import parse_rule, parse_rules
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall

_ids = count(1)
AGENTS = ("dev", "rev")
STATES = ("working", "waiting", "checking")
FACTS = {
    "read": ToolFacts("read", "path", is_read_only=True),
    "write": ToolFacts("write", "path"),
    "bash": ToolFacts("bash", "command"),
    "mcp__web__get": ToolFacts("mcp__web__get"),
    "mcp__web__*": ToolFacts("mcp__web__*", is_any=True),
}
KINDS = {name: tool.pattern_kind for name, tool in FACTS.items()}
CALLS: dict[str, list[dict[str, Any]]] = {
    "read": [{"file_path": "src/a.py"}, {"file_path": "b.md"}],
    "write": [{"file_path": "src/a.py", "content": ""}, {"file_path": "b.md", "content": ""}],
    "bash": [{"command": "git status"}, {"command": "git push"}, {"command": "make"}],
    "mcp__web__get": [{}],
    "mcp__web__post": [{}],
}
PATTERNS = {"read": ["src/**"], "write": ["src/**", "*.md"], "bash": ["git *", "git push*"], "*": ["src/**"]}


class Remote(Tool):
    """A tool of a server."""

    pattern_kind = "none"

    def __init__(self, name: str) -> None:
        self.spec = ToolSpec(name=name, description="", input_schema=object_schema({}, required=()))

    def subject(self, arguments: Arguments) -> None:
        return None

    async def run(self, run: Run) -> ToolOutcome:
        return ToolOutcome("done")


@st.composite
def rules(draw: st.DrawFn) -> list[str]:
    found = []
    names = ["read", "write", "bash", "mcp__web__get", "mcp__web__*", "mcp__*", "mcp__*__p*", "*"]
    for _ in range(draw(st.integers(0, 4))):
        tool = draw(st.sampled_from(names))
        pattern = draw(st.sampled_from([None, None, *PATTERNS.get(tool, [])]))
        agents = draw(st.sampled_from(["", "", " for dev", " for rev, dev", " for rev"]))
        states = draw(st.sampled_from(["", "", " in working", " in waiting, checking"]))
        decision = draw(st.sampled_from(["allow", "ask", "deny"]))
        found.append(f"{decision} {tool}{'' if pattern is None else f'({pattern})'}{agents}{states}")
    return found


ACCESS = st.builds(
    ToolAccess,
    allowed=st.sampled_from([None, None, ("read", "bash", "mcp__web__get"), ("write",)]),
    blocked=st.sampled_from([(), (), ("bash",), ("mcp__web__get",)]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rules=rules(),
    accesses=st.tuples(ACCESS, ACCESS),
    active=st.sets(st.sampled_from(STATES)),
    guessed=st.sets(st.sampled_from(STATES)),
    path=st.sampled_from(["dev", "rev", "dev > rev"]),
    yes=st.booleans(),
    kept=st.sampled_from([(), ("allow bash(git *)",), ("allow mcp__web__get",)]),
)
def test_each_call_gets_one_of_the_answers_and_the_only_one_where_there_is_one(
    tmp_path: Path,
    rules: list[str],
    accesses: tuple[ToolAccess, ToolAccess],
    active: set[str],
    guessed: set[str],
    path: str,
    yes: bool,
    kept: Sequence[str],
) -> None:
    agents = dict(zip(AGENTS, accesses, strict=True))
    folder = Folder(tmp_path)
    bash = Bash(
        tmp_path, outputs=tmp_path / "outputs", leftovers=Leftovers(tmp_path / "run"), env={}, settings=BashSettings()
    )
    listed: list[Tool] = [Read(folder), Write(folder), bash, Remote("mcp__web__get"), Remote("mcp__web__post")]
    tools = {tool.spec.name: tool for tool in listed}
    remembered = tuple(map(parse_rule, kept))
    gate = Gate(
        agents=agents,
        rules=parse_rules(rules, {**KINDS, "mcp__web__post": "none"}),
        assume_yes=yes,
        approvals=Approvals(),
        active_states=lambda: active,
        kept=lambda: remembered,
    )
    possible = PossibleAnswers(agents, tuple(map(parse_rule, rules)), remembered, "--yes" * yes)
    certain = States(
        frozenset(active - guessed), frozenset(guessed)
    )  # some of the states are only known to be possible
    for name, calls in CALLS.items():
        facts = FACTS.get(name, FACTS["mcp__web__*"])
        answers = possible.of(path, facts, [certain])
        decisions = {answer.decision for answer in answers}
        for arguments in calls:
            call, tool = ToolCall(id=f"c{next(_ids)}", name=name, input=arguments), tools[name]
            refused = gate.refusal(path, name)
            decided = (refused or gate.verdict(path, call, tool, tool.subject(arguments))).decision
            assert STRICTNESS[weakest(answers)] <= STRICTNESS[decided], (name, arguments, rules, answers)
            has_pattern = any(answer.pattern is not None for answer in answers)
            assert has_pattern or decided in decisions, (name, arguments, rules, answers)
            if len(decisions) == 1 and not has_pattern:
                assert {decided} == decisions


@pytest.mark.parametrize(
    ("rules", "tool", "expected"),
    [
        ([], "bash", [("ask", None)]),
        ([], "read", [("allow", None)]),
        (["allow bash(git *)"], "bash", [("allow", "git *"), ("ask", None)]),
        (["deny bash(git push*)", "allow bash"], "bash", [("allow", None), ("deny", "git push*")]),
        (["deny bash", "allow bash(git *)"], "bash", [("deny", None)]),
        (["allow *(src/**)"], "bash", [("ask", None)]),
        (["allow *(src/**)"], "write", [("allow", "src/**"), ("ask", None)]),
        (["allow mcp__web__get"], "mcp__web__*", [("ask", None)]),
        (["allow mcp__*__p*"], "mcp__web__*", [("allow", None), ("ask", None)]),
        (["deny mcp__*", "allow mcp__web__*"], "mcp__web__*", [("deny", None)]),
        (["deny bash in working"], "bash", [("ask", None)]),
        (["deny bash in waiting"], "bash", [("deny", None)]),
        (["allow bash in checking"], "bash", [("allow", None), ("ask", None)]),
    ],
)
def test_the_answers_to_a_tool(rules: list[str], tool: str, expected: list[tuple[str, str | None]]) -> None:
    gate = PossibleAnswers({"dev": ToolAccess()}, tuple(map(parse_rule, rules)))
    moment = States(frozenset({"waiting"}), frozenset({"checking"}))
    assert [(one.decision, one.pattern) for one in gate.of("dev", FACTS[tool], [moment])] == expected


def test_the_strictest_of_two_moments_counts() -> None:
    gate = PossibleAnswers({"dev": ToolAccess()}, (parse_rule("deny bash in waiting"), parse_rule("allow bash")))
    moments = [States(frozenset({"working"})), States(frozenset({"waiting"}))]
    assert weakest(gate.of("dev", FACTS["bash"], moments[:1])) == "allow"
    assert weakest(gate.of("dev", FACTS["bash"], moments)) == "deny"
