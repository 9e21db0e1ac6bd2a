"""A used up budget: the run waits for a larger one, with all its work kept. Pure.

The budget is the whole run's and is counted where models are asked; the machine learns of it as an error with the code
`budget` before a call is made.
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
    """Say what is used up; the turn or the call that was refused stays to be made."""
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
    """A call waits for the run's rate limit (AL-070); nothing changes but that it is known."""
    return tell_observers("RATE_WAIT", context, what=event.what, limit=event.limit, wait_ms=event.wait_ms)


@bindings.guard
def has_open_call(context: AgentLoopContext, event: Event) -> bool:
    """A tool's call was refused, not a turn."""
    return context.open_call is not None
