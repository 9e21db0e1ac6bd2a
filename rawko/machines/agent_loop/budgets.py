"""A used-up budget: the run waits for a larger one and loses no work. Pure.

The budget belongs to the whole run and is counted where models are called. The machine learns of it as an error with
the code `budget`, raised before the call is made.
"""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign, log
from rawko.machines.agent_loop.context import AgentLoopContext, Question
from rawko.machines.agent_loop.conversation.closing import tell, tell_observers

bindings = Bindings()


@bindings.action
def run_out(context: AgentLoopContext, event: Event) -> Updates:
    """Report the used-up budget; the refused turn or tool call is made again after RESUME."""
    text = str(event.error.get("message", ""))
    told = {"kind": "budget", "text": text}
    return (
        assign(question=Question(kind="budget", text=text), is_unattended=True),
        log(text, "warning", agent=context.agent),
        tell_observers("OUT_OF_BUDGET", context, **told),
        tell("AGENT_WAITING", context, **told),
    )


@bindings.action
def report_rate_wait(context: AgentLoopContext, event: Event) -> Updates:
    """Report that a call waits for the run's rate limit (AL-070); the context does not change."""
    return tell_observers("RATE_WAIT", context, what=event.what, limit=event.limit, wait_ms=event.wait_ms)


@bindings.guard
def has_open_call(context: AgentLoopContext, event: Event) -> bool:
    """The budget refused a tool call, not a turn."""
    return context.open_call is not None
