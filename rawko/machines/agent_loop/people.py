"""Actions for the gate's verdicts, questions to people and their answers, and runs without a person to ask. Pure.

An answer of the people port is raised as the event that could also come from outside: both take the same transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign, raise_
from rawko.machines.agent_loop.context import AgentLoopContext, Question, ToolEntry
from rawko.machines.agent_loop.convergence import forget_repetition, repetition_question
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.closing import (
    answered,
    close_turn,
    granted,
    not_run,
    open_tool_call,
    tell,
    tell_observers,
)
from rawko.machines.agent_loop.conversation.own_answers import ending_text
from rawko.machines.agent_loop.conversation.rules import last_words, user_message
from rawko.machines.agent_loop.error_contexts import whole_call
from rawko.machines.agent_loop.sub_agents.paths import path_of
from rawko.vocabulary.messages import ToolResult

bindings = Bindings()

SCOPES = ("once", "tool", "always")


@bindings.action
def ask_approval(context: AgentLoopContext, event: Event) -> Updates:
    """Ask a person to approve the open call."""
    call = whole_call(open_tool_call(context).to_json())
    text = texts.APPROVAL.format(agent=path_of(context), call=call)
    return assign(question=Question(kind="approval", text=text))


@bindings.action
def ask_clarification(context: AgentLoopContext, event: Event) -> Updates:
    """Ask the user the agent's question; the `clarify` call stays open until the answer."""
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
    """Pause, because the agent called `pause`; the call stays open until a person answers."""
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
    """Pause: the agent stopped without a control call after `max_nudges` reminders (C-57)."""
    said = last_words(context.messages, context.new_messages_from)
    return (
        assign(question=Question(kind="pause", text=texts.SILENT_STOP), reason="silent_stop", summary=said),
        tell_observers("AGENT_PAUSED", context, reason=texts.SILENT_STOP),
    )


@bindings.action
def pause_repeating(context: AgentLoopContext, event: Event) -> Updates:
    """Pause: the agent repeats itself; the question to the person says which call or error."""
    question = repetition_question(context.repeated)
    why_not = texts.NOT_RUN.format(why="the run was paused")
    return (
        close_turn(context, why_not=why_not),
        assign(question=question, reason="repetition", summary=question.text),
        tell_observers("AGENT_PAUSED", context, reason=question.text, repeated=context.repeated),
    )


def answer_event(kind: str, text: str, who: str = "") -> tuple[str, dict[str, str]]:
    """The event, as name and payload, for a person's answer to a question of this kind."""
    if kind != "approval":
        return "USER_MESSAGE", {"content": text, "who": who}
    if text in SCOPES:
        return "APPROVE", {"scope": text, "who": who}
    return "DENY", {"reason": "" if text == "deny" else text, "who": who}


@bindings.action
def raise_answer(context: AgentLoopContext, event: Event) -> Updates:
    """Raise a person's answer as the event that could also have been sent from outside."""
    kind = "" if context.question is None else context.question.kind
    name, data = answer_event(kind, event.output["text"], event.output.get("who") or "")
    return raise_(name, **data)


@bindings.action
def report_unattended(context: AgentLoopContext, event: Event) -> Updates:
    """Report once that no person is there to answer; the machine stays waiting."""
    question, pending = context.question, context.open_call
    asked = {"kind": question.kind, "text": question.text} if question else {"kind": "pause", "text": ""}
    is_approval = question is not None and question.kind == "approval"
    told = {
        **asked,
        "call": pending.call if pending and is_approval else None,
        **({"repeated": context.repeated} if context.repeated is not None else {}),
    }
    return (
        assign(is_unattended=True),
        tell_observers("NEEDS_PERSON", context, **told),
        tell("AGENT_WAITING", context, **told),
    )


@bindings.action
def report_attended(context: AgentLoopContext, event: Event) -> Updates:
    """Report the end of waiting: the answer with who gave it, and AGENT_RESUMED where AGENT_WAITING was sent."""
    return (
        _answered(context, event),
        assign(is_unattended=False, question=None),
        tell("AGENT_RESUMED", context) if context.is_unattended else None,
    )


_ANSWERS: Mapping[str, Callable[[Event], str]] = {
    "USER_MESSAGE": lambda event: str(event.data.get("content") or ""),
    "RESUME": lambda event: str(event.data.get("content") or ""),
    "APPROVE": lambda event: str(event.data.get("scope") or "once"),
    "DENY": lambda event: f"deny {event.data.get('reason') or ''}".strip(),
}
"""Events that answer a question, each with a function that gives the answer's text."""


def _answered(context: AgentLoopContext, event: Event) -> Updates:
    """Emit QUESTION_ANSWERED with the answer and who gave it, for the journal and its readers."""
    question, says = context.question, _ANSWERS.get(event.name)
    if question is None or says is None or question.kind == "budget":
        return None
    return tell_observers(
        "QUESTION_ANSWERED",
        context,
        kind=question.kind,
        question=question.text,
        answer=says(event),
        who=str(event.data.get("who") or "somebody"),
    )


@bindings.action
def receive_message(context: AgentLoopContext, event: Event) -> Updates:
    """Take a user's message: as the answer to an open clarify or pause, or else as a message of the conversation."""
    content = str(event.data.get("content") or "")
    said = content if content.strip() else texts.RESUME
    pending = context.open_call
    fresh = (
        assign(nudges=0, continuations=0, reason=None, summary="", last_error=None),
        forget_repetition(),
        granted(context),
    )
    if pending is None:
        return append("messages", user_message((), said)), fresh
    why_not = texts.NOT_RUN.format(why=f"the message ended with {pending.call.name!r}")
    result = ToolResult(call_id=pending.call.id, content=said)
    return close_turn(context, why_not=why_not, open_result=result), fresh


@bindings.action
def refuse_call(context: AgentLoopContext, event: Event) -> Updates:
    """Deny the call by the gate's verdict; the model is told which rule denied it."""
    verdict = event.output
    text = texts.DENIED_BY_RULE.format(rule=verdict["rule"], reason=verdict["reason"]).strip()
    return _denied(context, text)


@bindings.action
def approve_call(context: AgentLoopContext, event: Event) -> Updates:
    """Approve the open call: once, for its tool, or always."""
    scope = event.data.get("scope")
    return assign(approval=scope if scope in SCOPES else "once")


@bindings.action
def deny_call(context: AgentLoopContext, event: Event) -> Updates:
    """Deny the open call; any other message of the person counts as a denial with a reason."""
    reason = event.data.get("reason") or event.data.get("content") or ""
    return _denied(context, texts.DENIED_BY_PERSON.format(reason=reason).strip())


def _denied(context: AgentLoopContext, text: str) -> Updates:
    call = open_tool_call(context)
    return answered(context, ToolEntry(call=call, result=not_run(call, text), is_denied=True))
