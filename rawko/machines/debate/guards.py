"""Guards of the debate: pure conditions on context and event, one function per name in the chart."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.debate.context import DebateContext

bindings = Bindings()


@bindings.guard
def is_argument_cancelled(context: DebateContext, event: Event) -> bool:
    """A side was cancelled."""
    return any(_outcome(one) == "cancelled" for one in event.output)


@bindings.guard
def lacks_argument(context: DebateContext, event: Event) -> bool:
    """A side has failed, reached a limit, or given no argument."""
    return any(why_lacking(one) for one in event.output)


@bindings.guard
def has_rounds_left(context: DebateContext, event: Event) -> bool:
    """Another round is allowed."""
    return context.round < context.parameters.rounds


def why_lacking(ended: Any) -> str:
    """Why a side has no argument, in words; "" where it has one."""
    if ended["status"] == "error":
        return ended["error"].get("message") or "it has failed"
    if ended["output"]["outcome"] != "success":
        return f"it has ended with {ended['output']['outcome']!r}"
    return "" if (ended["output"]["summary"] or "").strip() else "it has said nothing"


def _outcome(ended: Any) -> Any:
    return ended["output"]["outcome"] if ended["status"] == "done" else "failure"
