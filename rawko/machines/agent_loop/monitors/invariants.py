"""The functions of `statecharts/monitors/agent_loop.yaml`, the monitor of the agent machine's invariants. Pure.

The monitor's events are sismic's meta-events of the watched machine; each carries that machine's context. AL-080.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final

from pydantic import Field

from rawko.chart import load_chart, shipped_path
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign
from rawko.interpreter.data.values import Record
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.machines.agent_loop.conversation.rules import unanswered
from rawko.vocabulary.base import Data

bindings = Bindings()

Count = Annotated[int, Field(ge=0)]

COUNTED: Final = ("messages", "tool_history", "snapshot_history")
"""Lists of the context that only grow."""
_NEEDS_ANSWERS: Final = frozenset(
    {"thinking", "compacting", "idle", "done", "limit", "failed", "cancelled", "cancelling"}
)
_CAPTURES: Final = frozenset({"capturing_snapshot", "cancelling"})
_GOES_ON: Final = frozenset({"thinking", "compacting", "executing_tool", "idle", "waiting", "done", "limit"})
"""States that must not be entered before a change is captured; failed or cancelled runs are exempt."""


_SEEN: Final = _NEEDS_ANSWERS | _CAPTURES | _GOES_ON | {"running_tool"}
_ENDS: Final = frozenset(
    f"{end}.invoke.{actor}" for end in ("done", "error") for actor in ("execute_tool", "call_agent")
)


class InvariantsContext(Data):
    """The counts of the watched run after its last step; None before the first."""

    counts: tuple[Count, ...] | None = None


bindings.add("context", "InvariantsContext", InvariantsContext)


@bindings.guard
def is_state(context: Record, event: Event, *, name: str) -> bool:
    return bool(event.state == name)


@bindings.guard
def captures(context: Record, event: Event) -> bool:
    """The state captures the workspace."""
    return event.state in _CAPTURES


@bindings.guard
def goes_on(context: Record, event: Event) -> bool:
    """The state must not be entered before a change is captured."""
    return event.state in _GOES_ON


@bindings.guard
def needs_answers(context: Record, event: Event) -> bool:
    """In the state no call may be open: the model is asked, or the conversation is given back."""
    return event.state in _NEEDS_ANSWERS


@bindings.guard
def has_answers(context: Record, event: Event) -> bool:
    """Every call of the watched conversation is answered, and none is open or pending."""
    run = event.context
    is_clear = run.open_call is None and not len(run.pending_calls) and not len(run.turn_results)
    return is_clear and not unanswered(run.messages)


@bindings.guard
def results_match_calls(context: Record, event: Event) -> bool:
    """The last entry of the tool history holds a call and the result of the same id."""
    history = event.context.tool_history
    return not len(history) or history[-1].call.id == history[-1].result.call_id


@bindings.guard
def may_have_written(context: Record, event: Event) -> bool:
    """A called agent, or a tool that does not declare itself read-only, has ended, with or without an error (C-53)."""
    ended = event.event
    if ended.name in _ENDS and ended.name != "done.invoke.execute_tool":
        return True
    return ended.name == "done.invoke.execute_tool" and ended.output.get("is_read_only") is not True


@bindings.guard
def has_grown(context: Record, event: Event) -> bool:
    """No count has become smaller, and each tool step has its entry in the history."""
    now = _counts(event.context)
    is_counted = event.context.tool_steps == len(event.context.tool_history)
    before = context.counts
    return is_counted and (before is None or all(new >= old for new, old in zip(now, before, strict=True)))


@bindings.action
def count(context: Record, event: Event) -> Updates:
    """Remember the run's counts."""
    return assign(counts=_counts(event.context))


@bindings.action
def forget_counts(context: Record, event: Event) -> Updates:
    """Clear the counts: the monitor starts here, at whatever step of the run."""
    return assign(counts=None)


def _counts(run: Any) -> tuple[int, ...]:
    return (run.turns, run.tool_steps, *(len(run[name]) for name in COUNTED))


def concerns(event: Any) -> bool:
    """Whether the monitor may have a transition for this meta-event; others are not sent to it."""
    match event.name:
        case "state entered":
            return event.state in _SEEN
        case "state exited":
            return bool(event.state == "running_tool")
        case "event consumed":
            return event.event.name in _ENDS
        case _:
            return True


@cache
def monitors() -> tuple[Monitor, ...]:
    """The monitors of an agent's run, for `Session(monitors=...)` and for tests."""
    chart = load_chart(shipped_path("statecharts") / "monitors" / "agent_loop.yaml")
    return (Monitor("AgentLoopContext", chart, bindings, concerns),)
