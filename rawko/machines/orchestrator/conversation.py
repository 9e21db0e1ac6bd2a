"""Which messages an agent is given: its own conversation, another's, or none (C-35).

All messages stand in one append-only list of the context; the conversation that can be resumed is its tail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rawko.interpreter.data.values import Record
from rawko.vocabulary.messages import unpaired_calls

Start = Literal["fresh", "resume", "inherit"]
"""fresh: a new conversation; resume: the agent's own goes on; inherit: another's goes on (carry_messages: all)."""


def previous_agent(context: Record) -> str | None:
    """Who ran last; before anybody has, whose conversation a follow-up has taken over."""
    return context.history[-1].agent if len(context.history) else context.carried_agent or None


def told_task(context: Record) -> str:
    """The task as the arbiter and a fresh agent are told it: with what it follows, where it is a follow-up."""
    earlier = context.earlier
    if earlier is None or earlier.task == context.task:
        return str(context.task)
    summary = f"\nWhat it came to: {earlier.summary}" if earlier.summary else ""
    return (
        f"{context.task}\n\n(It follows an earlier task, which ended with {earlier.outcome}: {earlier.task}{summary})"
    )


def new_task(context: Record) -> str | None:
    """The task that an agent whose conversation was taken over does not know yet."""
    return context.task if context.earlier is not None and not len(context.history) else None


def new_changes(context: Record) -> Mapping[str, Any] | None:
    """Files that others have changed since the run that this one follows; told to the first agent that works."""
    return context.earlier.changes if context.earlier is not None and context.iteration_count <= 1 else None


def tail(context: Record) -> list[Mapping[str, Any]]:
    """Messages of the conversation of the agent that ran last, oldest first."""
    return [entry.message for entry in context.messages[context.conversation_start :]]


def how_to_start(context: Record, agent: Mapping[str, Any] | None) -> Start:
    """What an agent's next run does with the conversation of the run before.

    CONTINUE, RETRY and any other choice of the agent that ran last resume. A hand-over starts afresh, unless the new
    agent carries all messages. So does a conversation with unanswered tool calls, which cannot be sent again, and a
    run for which nobody has been chosen.

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
