"""The fallback model in the inputs of actors, once it replaces the agent's own. Pure."""

from __future__ import annotations

from typing import Any

from rawko.machines.agent_loop.context import AgentLoopContext


def fallback_input(context: AgentLoopContext) -> dict[str, Any]:
    """`{instead: {model, provider}}` of the fallback; {} while the agent's own model is asked."""
    if not context.is_fallen_back:
        return {}
    return {"instead": {"model": context.fallback.model, "provider": context.fallback.provider}}
