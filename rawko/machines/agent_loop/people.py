"""Actions around people: the gate's verdicts, questions, answers, and nobody there. Pure.

An answer of the people port becomes the event that could also have come from outside, so that there is one way on.
"""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.events import Event
from rawko.interpreter.updates import Updates, append, assign, raise_
from rawko.machines.agent_loop import texts
from rawko.machines.agent_loop.calls import ending_text
from rawko.machines.agent_loop.context import AgentLoopContext, Question, ToolEntry
from rawko.machines.agent_loop.conversation import last_words, user_message
from rawko.machines.agent_loop.failures import describe_call
from rawko.machines.agent_loop.turns import (
    answered,
    close_turn,
    granted,
    not_run,
    open_tool_call,
    tell,
    tell_observers,
)
from rawko.vocabulary.messages import ToolResult

bindings = Bindings()

SCOPES = ("once", "tool", "always")


@bindings.action
def ask_approval(context: AgentLoopContext, event: Event) -> Updates:
    """The gate wants a person's yes."""
    call = describe_call(open_tool_call(context).to_json())
    text = texts.APPROVAL.format(agent=context.agent, call=call)
    return assign(question=Question(kind="approval", text=text))


@bindings.action
def ask_clarification(context: AgentLoopContext, event: Event) -> Updates:
    """The agent asks; its call stays open until somebody answers."""
    pending = context.pending_calls[0]
    question = ending_text(pending.call)
    return (
        assign(
            open_call=pending,
            pending_calls=context.pending_calls[1:],
            question=Question(kind="clarify", text=question),
        ),
        tell_observers("AGENT_CLARIFICATION", context, question=question),
    )


@bindings.action
def pause_run(context: AgentLoopContext, event: Event) -> Updates:
    """The agent asks to be looked at; its call stays open until somebody does."""
    pending = context.pending_calls[0]
    text = ending_text(pending.call)
    return (
        assign(
            open_call=pending,
            pending_calls=context.pending_calls[1:],
            question=Question(kind="pause", text=text),
            reason="agent",
            summary=text,
        ),
        tell_observers("AGENT_PAUSED", context, reason=text),
    )


@bindings.action
def pause_silent(context: AgentLoopContext, event: Event) -> Updates:
    """The agent stopped silently once too often (C-57)."""
    said = last_words(context.messages, context.new_messages_from)
    return (
        assign(question=Question(kind="pause", text=texts.SILENT_STOP), reason="silent_stop", summary=said),
        tell_observers("AGENT_PAUSED", context, reason=texts.SILENT_STOP),
    )


def answer_event(kind: str, text: str) -> tuple[str, dict[str, str]]:
    """A person's answer to a question of a kind, as the event that the machine takes: its name and payload."""
    if kind != "approval":
        return "USER_MESSAGE", {"content": text}
    if text in SCOPES:
        return "APPROVE", {"scope": text}
    return "DENY", {"reason": "" if text == "deny" else text}


@bindings.action
def raise_answer(context: AgentLoopContext, event: Event) -> Updates:
    """A person's answer, as the event that anybody could have sent from outside."""
    kind = "" if context.question is None else context.question.kind
    name, data = answer_event(kind, event.output["text"])
    return raise_(name, **data)


@bindings.action
def report_unattended(context: AgentLoopContext, event: Event) -> Updates:
    """Nobody is there to answer: say so once, and go on waiting."""
    question, pending = context.question, context.open_call
    asked = {"kind": question.kind, "text": question.text} if question else {"kind": "pause", "text": ""}
    is_approval = question is not None and question.kind == "approval"
    told = {**asked, "call": pending.call if pending and is_approval else None}
    return (
        assign(is_unattended=True),
        tell_observers("NEEDS_PERSON", context, **told),
        tell("AGENT_WAITING", context, **told),
    )


@bindings.action
def report_attended(context: AgentLoopContext, event: Event) -> Updates:
    """The waiting is over; the parent is told if it was told of the waiting."""
    return assign(is_unattended=False, question=None), tell("AGENT_RESUMED", context) if context.is_unattended else None


@bindings.action
def receive_message(context: AgentLoopContext, event: Event) -> Updates:
    """What the user says: the answer to an open clarify or pause, or a message of its own."""
    content = str(event.data.get("content") or "")
    said = content if content.strip() else texts.RESUME
    pending = context.open_call
    fresh = (assign(nudges=0, continuations=0, reason=None, summary="", last_error=None), granted(context))
    if pending is None:
        return append("messages", user_message((), said)), fresh
    why_not = texts.NOT_RUN.format(why=f"the message ended with {pending.call.name!r}")
    result = ToolResult(call_id=pending.call.id, content=said)
    return close_turn(context, why_not=why_not, open_result=result), fresh


@bindings.action
def refuse_call(context: AgentLoopContext, event: Event) -> Updates:
    """The gate says no: the model is told which rule did, and nothing is run."""
    verdict = event.output
    text = texts.DENIED_BY_RULE.format(rule=verdict["rule"], reason=verdict["reason"]).strip()
    return _denied(context, text)


@bindings.action
def approve_call(context: AgentLoopContext, event: Event) -> Updates:
    """A person says yes to the open call: once, to this tool, or always."""
    scope = event.data.get("scope")
    return assign(approval=scope if scope in SCOPES else "once")


@bindings.action
def deny_call(context: AgentLoopContext, event: Event) -> Updates:
    """A person says no to the open call, or says something else instead, which is a no with a reason."""
    reason = event.data.get("reason") or event.data.get("content") or ""
    return _denied(context, texts.DENIED_BY_PERSON.format(reason=reason).strip())


def _denied(context: AgentLoopContext, text: str) -> Updates:
    call = open_tool_call(context)
    return answered(context, ToolEntry(call=call, result=not_run(call, text), is_denied=True))
