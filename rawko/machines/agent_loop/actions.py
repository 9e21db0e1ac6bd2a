"""Actions of the agent machine: (context, event) to updates as data, one function per name in the chart. Pure.

In the order of a run: start, the turn, its calls, the ends. People are asked in `people`, failures end it in `failing`.
"""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign, log
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import (
    AgentLoopContext,
    PendingCall,
    Question,
    SnapshotEntry,
    ToolEntry,
)
from rawko.machines.agent_loop.control import MODELS
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.closing import (
    answered,
    close_turn,
    limit_text,
    not_run,
    open_tool_call,
    spent,
    tell,
    tell_observers,
)
from rawko.machines.agent_loop.conversation.own_answers import ending_text, immediate_answer
from rawko.machines.agent_loop.conversation.rules import (
    WireMessage,
    calls_of,
    ends_in_call,
    last_words,
    text_of,
    unanswered,
    user_message,
)
from rawko.vocabulary.messages import ToolResult
from rawko.vocabulary.plan import Plan, diff_plans
from rawko.vocabulary.snapshot import Snapshot

WINDOW_EXCEEDED = "model_context_window_exceeded"

bindings = Bindings()


# ---------------------------------------------------------------- start


@bindings.action
def begin(context: AgentLoopContext, event: Event) -> Updates:
    """Mark where the new part of the conversation starts; answer what a resumed one left open (C-35)."""
    left_open = [
        ToolResult(call_id=id, content=texts.CANCELLED_CALL, is_error=True) for id in unanswered(context.messages)
    ]
    message = user_message(left_open)
    return (
        assign(new_messages_from=len(context.messages), plan_given=context.plan),
        append("messages", message) if message else None,
    )


@bindings.action
def receive_prompt(context: AgentLoopContext, event: Event) -> Updates:
    """The prompt of the input is the user's first message."""
    return append("messages", user_message((), context.prompt))


@bindings.action
def record_snapshot(context: AgentLoopContext, event: Event, *, is_tools: bool = False) -> Updates:
    """Keep the captured tree, if it is the first or differs from the last (C-53); `is_tools`: a tool made it so."""
    captured = event.output["snapshot"]
    current = context.current_snapshot
    if current is not None and current.tree == captured["tree"]:
        return assign(touched=None)
    call_id = context.tool_history[-1].call.id if is_tools else None
    entry = SnapshotEntry(**thaw(captured), call_id=call_id)
    written = event.output.get("written")
    in_all = {"files_changed": event.output.get("changes", ())} if written is None else {}  # of runs recorded before
    return (
        append("snapshot_history", entry),
        append("file_changes", written) if written else None,
        assign(current_snapshot=Snapshot(**thaw(captured)), **in_all, touched=None),
        tell_observers("SNAPSHOT_CAPTURED", context, tree=entry.tree, label=entry.label),
    )


@bindings.action
def follow_up(context: AgentLoopContext, event: Event) -> Updates:
    """Take over the conversation of a run that has ended, and the next task (C-20, C-35).

    The event carries all of it, so that this run can be read and resumed without the other one.
    """
    carried = [thaw(message) for message in event.data.get("messages") or ()]
    left_open = [ToolResult(call_id=id, content=texts.CANCELLED_CALL, is_error=True) for id in unanswered(carried)]
    message = user_message(left_open, str(event.content))
    return (
        tuple(append("messages", kept) for kept in carried),
        assign(new_messages_from=len(carried), plan=event.data.get("plan"), plan_given=event.data.get("plan")),
        append("messages", message) if message else None,
        tell_observers("RUN_CONTINUED", context, run=str(event.run)),
    )


# ---------------------------------------------------------------- the model's turn


@bindings.action
def begin_turn(context: AgentLoopContext, event: Event) -> Updates:
    """Nothing has arrived of the answer yet; what a failed try sent is forgotten."""
    return assign(current_response=[])


@bindings.action
def append_text(context: AgentLoopContext, event: Event) -> Updates:
    """A piece of the answer's text; in O(1), however long the answer is."""
    return append("current_response", event.text), tell_observers("TEXT_DELTA", context, text=event.text)


@bindings.action
def record_turn(context: AgentLoopContext, event: Event) -> Updates:
    """The whole turn is there: the message verbatim, its cost, and its calls queued (C-34, C-55).

    An empty message is not kept, since no server takes it back; nor is a refused one, which would be refused again.
    """
    done = event.output
    message, stop_reason = done["message"], done["stop_reason"]
    is_kept = len(message["content"]) > 0 and stop_reason != "refusal"
    text = text_of(message)
    said = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return (
        append("messages", message) if is_kept else None,
        assign(
            pending_calls=_queued(message, stop_reason) if is_kept else [],
            stop_reason=stop_reason,
            turns=context.turns + 1,
            usage=spent(context.usage) + spent(done["usage"]),
            cost_usd=context.cost_usd + (done.get("cost_usd") or 0.0),
            model=done["model"],
            context_tokens=spent(done["usage"]).total_tokens,
            context_window=done.get("context_window"),
            compactions_in_a_row=context.compactions_in_a_row if stop_reason == WINDOW_EXCEEDED else 0,
            retries=0,
            last_error=None,
            current_response=[],
        ),
        tell("AGENT_MESSAGE", context, message=said) if text else None,
        tell_observers("TURN_DONE", context, stop_reason=stop_reason, usage=done["usage"], model=done["model"]),
    )


def _queued(message: WireMessage, stop_reason: str) -> list[PendingCall]:
    calls = calls_of(message)
    is_cut = stop_reason in ("max_tokens", WINDOW_EXCEEDED) and ends_in_call(message)
    return [
        PendingCall(call=call, is_truncated=is_cut and place == len(calls)) for place, call in enumerate(calls, start=1)
    ]


@bindings.action
def count_retry(context: AgentLoopContext, event: Event) -> Updates:
    """One more try of the same turn (C-24)."""
    retries = context.retries + 1
    code = event.error.get("code")
    return (
        assign(retries=retries),
        log(f"Retrying the turn after {code} ({retries} of {context.max_retries})", "warning", agent=context.agent),
        tell_observers("AGENT_RETRY", context, retry=retries, code=code),
    )


@bindings.action
def fall_back(context: AgentLoopContext, event: Event) -> Updates:
    """Ask the other model from here to the end of the run; it has all its retries."""
    code = event.error.get("refused_wait") or event.error.get("code")
    own, other = event.error.get("model") or "the model", context.fallback.model
    where = f" of {context.fallback.provider}" if context.fallback.provider else ""
    return (
        assign(is_fallen_back=True, retries=0),
        log(f"{own}: {code}; {other}{where} is asked from here on", "warning", agent=context.agent),
        tell_observers("MODEL_FALLBACK", context, model=other, instead_of=own, code=code),
    )


@bindings.action
def nudge(context: AgentLoopContext, event: Event) -> Updates:
    """Say that a run does not end silently (C-57)."""
    return (
        append("messages", user_message((), texts.NUDGE)),
        assign(nudges=context.nudges + 1),
        tell_observers("AGENT_STOPPED", context, nudge=context.nudges + 1),
    )


@bindings.action
def continue_cut_off(context: AgentLoopContext, event: Event) -> Updates:
    """Answer the calls of a message that was cut off, and ask for the rest (C-38)."""
    return close_turn(context, text=texts.CUT_OFF), assign(continuations=context.continuations + 1)


# ---------------------------------------------------------------- the turn's calls


@bindings.action
def answer_next_call(context: AgentLoopContext, event: Event) -> Updates:
    """The machine's own answer to the next call: a plan update, or what is wrong with the call."""
    answer = immediate_answer(context)
    assert answer is not None, "the guard is_answered_by_machine holds"
    taken = assign(pending_calls=context.pending_calls[1:])
    return taken, append("turn_results", answer.result), _planned(context, answer.plan) if answer.plan else None


def _planned(context: AgentLoopContext, plan: Plan) -> Updates:
    given = None if context.plan_given is None else Plan.model_validate(thaw(context.plan_given))
    updates = diff_plans(given, plan)
    return assign(plan=plan, plan_updates=updates), tell_observers("PLAN_UPDATED", context, plan=plan)


@bindings.action
def open_next_call(context: AgentLoopContext, event: Event) -> Updates:
    """Take the next call in hand."""
    pending = context.pending_calls[0]
    return (
        assign(open_call=pending, pending_calls=context.pending_calls[1:]),
        tell("AGENT_TOOL_CALL", context, tool_call=pending.call),
    )


@bindings.action
def record_result(context: AgentLoopContext, event: Event) -> Updates:
    """The tool has answered."""
    call, outcome = open_tool_call(context), event.output
    result = ToolResult(call_id=call.id, content=outcome["content"], is_error=outcome.get("is_error", False))
    entry = ToolEntry(
        call=call,
        result=result,
        is_broken=outcome.get("is_broken", False),
        is_denied=outcome.get("is_denied", False),
        exit_code=outcome.get("exit_code"),
    )
    return answered(context, entry), assign(touched=outcome.get("touched"))


@bindings.action
def record_crash(context: AgentLoopContext, event: Event) -> Updates:
    """The tool's actor failed, which tools never do: the tool is broken (C-13)."""
    call = open_tool_call(context)
    result = not_run(call, texts.BROKEN.format(message=event.error.get("message", "")))
    return answered(context, ToolEntry(call=call, result=result, is_broken=True)), assign(touched=None)


@bindings.action
def answer_turn(context: AgentLoopContext, event: Event) -> Updates:
    """All results of the turn go back in one message (C-55)."""
    return close_turn(context)


# ---------------------------------------------------------------- ends


@bindings.action
def complete_run(context: AgentLoopContext, event: Event) -> Updates:
    """The agent says that the task is done; calls that stand after it are not run."""
    call = context.pending_calls[0].call
    summary = ending_text(call)
    done = ToolResult(call_id=call.id, content=texts.COMPLETED)
    rest = [
        not_run(pending.call, texts.NOT_RUN.format(why="the message ended with 'complete'"))
        for pending in context.pending_calls[1:]
    ]
    return (
        append("messages", user_message([*context.turn_results, done, *rest])),
        assign(pending_calls=[], turn_results=[], summary=summary, last_error=None),
        tell_observers("AGENT_DONE", context, summary=summary),
    )


@bindings.action
def reach_limit(context: AgentLoopContext, event: Event, *, reason: str) -> Updates:
    """A limit is reached: turns, tool_steps, max_tokens or context_window (C-21, C-33, C-38, C-58)."""
    text = limit_text(context, reason)
    said = last_words(context.messages, context.new_messages_from)
    return (
        close_turn(context, why_not=texts.NOT_RUN.format(why=text.rstrip("."))),
        assign(
            reason=reason,
            question=Question(kind="pause", text=text),
            summary=f"{text} {said}".strip(),
            is_compacting=False,
        ),
        log(text, "warning", agent=context.agent),
    )


@bindings.action
def cancel_run(context: AgentLoopContext, event: Event) -> Updates:
    """Stop: every open call gets a synthetic answer, so that the conversation stays valid (C-29, S3-093)."""
    entry = _cancelled_entry(context)
    return (
        (append("tool_history", entry), assign(tool_steps=context.tool_steps + 1)) if entry else None,
        close_turn(context, why_not=texts.CANCELLED_CALL),
        assign(summary=texts.CANCELLED, current_response=[]),
    )


@bindings.action
def stop_turn(context: AgentLoopContext, event: Event) -> Updates:
    """Stop what is being done, as `cancel_run` does; what a person says next begins a new turn (C-20)."""
    return (
        cancel_run(context, event),
        assign(summary=texts.STOPPED, is_compacting=False, touched=None),
        tell_observers("TURN_STOPPED", context, who=str(event.data.get("who") or "")),
    )


def _cancelled_entry(context: AgentLoopContext) -> ToolEntry | None:
    """The open call's place in the tool history; a clarify or pause has none."""
    if context.open_call is None or context.open_call.call.name in MODELS:
        return None
    call = open_tool_call(context)
    return ToolEntry(call=call, result=not_run(call, texts.CANCELLED_CALL))


@bindings.action
def log_capture_failure(context: AgentLoopContext, event: Event) -> Updates:
    """The last look of a cancelled run failed; it is cancelled all the same."""
    message = event.error.get("message", "")
    return log(texts.WORKSPACE.format(message=message), "error", agent=context.agent)
