"""Agents: what a file that says little means, and what of a file the arbiter is told."""

from __future__ import annotations

from rawko.vocabulary.agent import AgentConfig, ContextOptions, Limits, SummaryChars, ToolAccess, describe


def test_an_agent_that_sets_no_bounds_gets_those_of_the_specification() -> None:
    """S3-062, S6-031, S6-033, C-14, C-21."""
    agent = AgentConfig(name="a", when_to_use="always", system_prompt="You are a.")
    assert agent.limits.turns == 10
    assert (agent.context.summary_chars.select, agent.context.summary_chars.evaluate) == (300, 500)
    assert agent.context.full_chars == 2000
    assert (agent.context.history_select, agent.context.history_evaluate) == (10, 5)
    assert (agent.context.carry_messages, agent.chart) == ("summary", "agent_loop")


def test_a_description_leaves_out_nothing_that_the_machine_goes_by() -> None:
    """S3-062, S6-021, S6-110, C-09, C-21: tools, limits, context and chart are those of the file."""
    config = AgentConfig(
        name="prover",
        display_name="Prover",
        when_to_use="to prove",
        system_prompt="You prove.",
        tools=ToolAccess(allowed=("read",), blocked=("bash",)),
        limits=Limits(turns=3, tool_steps=7, repeats=5),
        context=ContextOptions(
            summary_chars=SummaryChars(select=11, evaluate=12),
            full_chars=13,
            history_select=14,
            history_evaluate=15,
            carry_messages="all",
        ),
        chart="proof_loop",
    )
    described = describe(config)
    for field in ("name", "display_name", "when_to_use", "tools", "limits", "context", "chart"):
        assert getattr(described, field) == getattr(config, field), field


def test_an_agent_without_a_display_name_is_shown_by_its_name() -> None:
    """S6-021, C-43."""
    assert describe(AgentConfig(name="a", when_to_use="w", system_prompt="s")).display_name == "a"
