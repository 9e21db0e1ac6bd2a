"""The name of an agent together with its callers, from its machine's context. Pure."""

from __future__ import annotations

from rawko.machines.agent_loop.context import AgentLoopContext
from rawko.vocabulary.agent_path import agent_path


def path_of(context: AgentLoopContext) -> str:
    """The agent's name for gates and people: "reviewer", or "developer > reviewer" where developer called it."""
    return agent_path((*context.called_by, context.agent)) if len(context.called_by) else context.agent
