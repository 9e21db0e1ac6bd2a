"""Actions that end a run as failed: each answers the open calls and records the error (C-13). Pure."""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign, log
from rawko.machines.agent_loop.context import AgentLoopContext
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.closing import close_turn, spent
from rawko.machines.agent_loop.error_contexts import abridged, reported_error, run_error, tool_error
from rawko.vocabulary.errors import ErrorContext

bindings = Bindings()

TURN = "a turn of the model"


@bindings.action
def record_turn_error(context: AgentLoopContext, event: Event) -> Updates:
    """Record the error of a failed model call, and add the tokens that it is known to have used (C-34)."""
    usage = event.error.get("usage")
    return (
        assign(last_error=reported_error(context, event.at_ms, event.error, attempted=TURN)),
        assign(usage=spent(context.usage) + spent(usage)) if usage else None,
    )


@bindings.action
def fail_turn(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: the provider's error is not retryable, or the retries are used up."""
    return _failed(context, reported_error(context, event.at_ms, event.error, attempted=TURN))


@bindings.action
def fail_refused(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: the model refused to answer, a provider_error (C-38)."""
    return _failed(
        context,
        run_error(
            context,
            event.at_ms,
            category="provider_error",
            message=texts.REFUSED,
            attempted=TURN,
            code="refusal",
        ),
    )


@bindings.action
def fail_unrepaired(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: it ends while its last tool result is an error."""
    return _failed_tool(context, event, texts.UNREPAIRED)


@bindings.action
def fail_repeating(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: the same call has failed in the same way `limits.repeats` times."""
    return _failed_tool(context, event, texts.REPEATED)


@bindings.action
def fail_broken_tool(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: a tool is defective."""
    return _failed_tool(context, event, texts.BROKEN)


@bindings.action
def fail_workspace(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: the workspace cannot be captured, so later changes could not be undone."""
    error = reported_error(context, event.at_ms, event.error, attempted="a capture of the workspace")
    return _failed(context, error.model_copy(update={"message": texts.WORKSPACE.format(message=error.message)}))


@bindings.action
def fail_unattended(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: no person can answer its question, and the settings forbid waiting."""
    question = context.question.text if context.question is not None else ""
    error = reported_error(context, event.at_ms, event.error, attempted="a question to a person")
    return _failed(context, error.model_copy(update={"message": texts.UNATTENDED.format(question=question)}))


@bindings.action
def fail_gate(context: AgentLoopContext, event: Event) -> Updates:
    """Fail the run: the gate did not answer, and no call runs without its verdict."""
    return _failed(context, reported_error(context, event.at_ms, event.error, attempted="a question to the gate"))


def _failed_tool(context: AgentLoopContext, event: Event, words: str) -> Updates:
    entry = context.tool_history[-1]
    message = words.format(message=abridged(entry.result.content), times=context.limits.repeats)
    return _failed(context, tool_error(context, event.at_ms, entry, message))


def _failed(context: AgentLoopContext, error: ErrorContext) -> Updates:
    why_not = texts.NOT_RUN.format(why="the run failed")
    return (
        close_turn(context, why_not=why_not),
        assign(last_error=error, summary=error.message, current_response=[]),
        log(error.message, "error", agent=context.agent, category=error.category),
    )
