"""Detects an agent that repeats itself: equal calls and equal errors, counted in constant time per call. Pure.

Two calls are equal if tool, input and the workspace's tree before the call are; two errors, if tool and error text are.
The memory is bounded, whatever the length of the run.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import AgentLoopContext, ErrorStreak, Question, Repetition, ToolEntry
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.error_contexts import abridged, describe_call
from rawko.vocabulary.messages import ToolCall

bindings = Bindings()

MIN_REMEMBERED = 12
REMEMBERED_PER_REPEAT = 4
"""Number of last calls that are compared, per allowed repetition (`limits.repeats`); at least `MIN_REMEMBERED`."""

MESSAGE_CHARS = 300


@bindings.guard
def repeats_itself(context: AgentLoopContext, event: Event) -> bool:
    """The same call on the same tree, or the same error, has come `limits.repeats` times."""
    return context.repeated is not None


def watched(context: AgentLoopContext, entry: ToolEntry) -> Updates:
    """Count a call and its answer; a `limits.repeats` of 0 turns the detection off."""
    most = context.limits.repeats
    if most == 0:
        return None
    tree = context.current_snapshot.tree if context.current_snapshot is not None else None
    key = _digest(entry.call.name, thaw(entry.call.input), tree)
    recent = [*context.recent_calls, key][-max(MIN_REMEMBERED, REMEMBERED_PER_REPEAT * most) :]
    streak = _streak(context, entry)
    return assign(
        recent_calls=recent,
        error_streak=streak,
        repeated=_repeated(entry, most, times=recent.count(key), streak=streak, tree=tree),
    )


def forget_repetition() -> Updates:
    """Clear the counts, because a person has told the agent how to continue."""
    return assign(recent_calls=[], error_streak=None, repeated=None)


def repetition_question(found: Any) -> Question:
    """The question to a person about a repetition."""
    words = texts.REPEATED_CALL if found["kind"] == "call" else texts.REPEATED_ERROR
    return Question(
        kind="pause", text=words.format(times=found["times"], call=found["call"], message=found["message"]).strip()
    )


def _streak(context: AgentLoopContext, entry: ToolEntry) -> ErrorStreak | None:
    before, tool = context.error_streak, entry.call.name
    if not entry.result.is_error:
        return None if before is None or before.tool == tool else ErrorStreak(**thaw(before))
    digest = _digest(tool, entry.result.content)
    times = before.times + 1 if before is not None and before.digest == digest else 1
    return ErrorStreak(tool=tool, digest=digest, times=times)


def _repeated(
    entry: ToolEntry, most: int, *, times: int, streak: ErrorStreak | None, tree: str | None
) -> Repetition | None:
    call = _described(entry.call)
    if entry.result.is_error and streak is not None and streak.times >= most:
        message = abridged(entry.result.content)[:MESSAGE_CHARS]
        return Repetition(kind="error", call=call, times=streak.times, tree=tree, message=message)
    return Repetition(kind="call", call=call, times=times, tree=tree) if times >= most else None


def _described(call: ToolCall) -> str:
    return describe_call(call.to_json())


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
