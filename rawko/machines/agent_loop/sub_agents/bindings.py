"""Guards, actions and inputs of the state `running_agent`, in which a called agent carries out a tool call. Pure."""

from __future__ import annotations

from typing import Any, Final

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import AgentLoopContext, ToolEntry
from rawko.machines.agent_loop.conversation.closing import answered, open_tool_call, spent
from rawko.machines.agent_loop.sub_agents.results import result_text
from rawko.vocabulary.messages import ToolResult

bindings = Bindings()

NOT_BEGUN: Final = "{agent} could not be run: {message}"
IS_ERROR: Final = frozenset({"failure", "cancelled"})
"""Outcomes of a called agent that make the call's result an error; a limit does not (C-33)."""


@bindings.guard
def begins_agent(context: AgentLoopContext, event: Event) -> bool:
    """The gate let the call pass, and the call is for another agent."""
    return event.output.get("begins_agent") is not None


@bindings.input
def call_agent_input(context: AgentLoopContext, event: Event) -> Any:
    """The called agent, its callers, and its task."""
    call = open_tool_call(context)
    return {
        "called_by": [*context.called_by, context.agent],
        "agent": call.input["agent"],
        "task": call.input["task"],
        "context": call.input.get("context") or "",
        "can_update_plan": context.can_update_plan,
        "seed": f"{context.seed}/{call.id}",
    }


@bindings.action
def record_agent(context: AgentLoopContext, event: Event) -> Updates:
    """Record the end of the called agent: its report is the call's result, its usage and cost are added to the
    caller's."""
    call, result = open_tool_call(context), thaw(event.output)
    content = result_text(call.input["agent"], result)
    answer = ToolResult(call_id=call.id, content=content, is_error=result["outcome"] in IS_ERROR)
    return (
        answered(context, ToolEntry(call=call, result=answer)),
        assign(
            touched=None,
            usage=spent(context.usage) + spent(result["usage"]),
            cost_usd=context.cost_usd + result["cost_usd"],
        ),
    )


@bindings.action
def record_agent_failure(context: AgentLoopContext, event: Event) -> Updates:
    """Record that the called agent could not be started, or that its machine failed."""
    call = open_tool_call(context)
    content = NOT_BEGUN.format(agent=call.input["agent"], message=event.error.get("message", ""))
    answer = ToolResult(call_id=call.id, content=content, is_error=True)
    return answered(context, ToolEntry(call=call, result=answer)), assign(touched=None)
