"""The messages that an agent's run starts with: its own conversation, another agent's, or none (C-35).

All messages are in one append-only list of the context; the conversation that can be resumed is its tail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rawko.interpreter.data.values import Record
from rawko.vocabulary.messages import unpaired_calls

Start = Literal["fresh", "resume", "inherit"]
"""fresh: a new conversation; resume: the agent continues its own; inherit: it continues another's (carry_messages:
all)."""


def previous_agent(context: Record) -> str | None:
    """The agent that ran last; before the first run, the agent whose conversation a follow-up has taken over."""
    return context.history[-1].agent if len(context.history) else context.carried_agent or None


def task_text(context: Record) -> str:
    """The task in the words for the arbiter and a fresh agent; for a follow-up, with the task that it follows."""
    earlier = context.earlier
    if earlier is None or earlier.task == context.task:
        return str(context.task)
    summary = f"\nWhat it came to: {earlier.summary}" if earlier.summary else ""
    return (
        f"{context.task}\n\n(It follows an earlier task, which ended with {earlier.outcome}: {earlier.task}{summary})"
    )


def new_task(context: Record) -> str | None:
    """The task, for an agent whose conversation was taken over and does not contain it yet; else None."""
    return context.task if context.earlier is not None and not len(context.history) else None


def new_changes(context: Record) -> Mapping[str, Any] | None:
    """Files changed since the run that this one follows; only for the first agent that runs."""
    return context.earlier.changes if context.earlier is not None and context.iteration_count <= 1 else None


def tail(context: Record) -> list[Mapping[str, Any]]:
    """Messages of the conversation of the agent that ran last, oldest first."""
    return [entry.message for entry in context.messages[context.conversation_start :]]


def how_to_start(context: Record, agent: Mapping[str, Any] | None) -> Start:
    """Whether an agent's next run starts fresh or with the conversation of the run before.

    CONTINUE, RETRY and any other choice of the agent that ran last resume. A hand-over to another agent starts fresh,
    unless that agent carries all messages. A conversation with unanswered tool calls cannot be sent again, so the run
    after it starts fresh; so does a run without an agent.

    Source: C-35.
    """
    if agent is None:
        return "fresh"
    carries_all = agent["context"]["carry_messages"] == "all"
    is_same = previous_agent(context) == agent["name"]
    if not is_same and not carries_all:
        return "fresh"
    messages = tail(context)
    if not messages or next(unpaired_calls(messages), None) is not None:
        return "fresh"
    return "resume" if is_same else "inherit"
