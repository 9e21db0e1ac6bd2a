"""The inputs of the machine's actors, its delays and its output. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.node_engine import notes, walk
from rawko.machines.node_engine.context import NodeEngineContext, state_of
from rawko.machines.node_engine.decide import planned_delay_ms

bindings = Bindings()
bindings.add("context", "NodeEngineContext", NodeEngineContext)


@bindings.input
def call_input(context: NodeEngineContext, event: Event) -> dict[str, Any]:
    """The id of the run, for `should_stop`."""
    return {"run_id": context.run_id}


@bindings.input
def run_once_input(context: NodeEngineContext, event: Event) -> dict[str, Any]:
    """The node, and the state before the attempt (NE-009)."""
    return {"current_node": context.node_name, "state": state_of(context), "ctx": context.ctx, "seed": context.seed}


@bindings.input
def persist_input(context: NodeEngineContext, event: Event) -> dict[str, Any]:
    """The arguments of `on_persist`: (state, events, node_name) (NE-006)."""
    assert context.result is not None
    return {"state": state_of(context), "events": context.result.events, "node_name": context.node_name}


@bindings.input
def persist_interrupted_input(context: NodeEngineContext, event: Event) -> dict[str, Any]:
    """As `persist_input`, for an attempt without a result; its one event is the interruption."""
    return {
        "state": state_of(context),
        "events": [interruption(context)],
        "node_name": context.node_name,
    }


def interruption(context: NodeEngineContext) -> dict[str, Any]:
    """The event that is persisted for an attempt without a result."""
    return {"type": notes.INTERRUPTED, **notes.attempt_interrupted(context).data}


@bindings.input
def report_input(context: NodeEngineContext, event: Event) -> dict[str, Any]:
    """The result of the attempt, for `on_attempt` (NE-006)."""
    return {"result": context.result}


@bindings.delay
def retry_delay(context: NodeEngineContext, event: Event) -> int:
    """Milliseconds before the next attempt (NE-005)."""
    return planned_delay_ms(context)


@bindings.delay
def check_interval(context: NodeEngineContext, event: Event) -> int:
    """Milliseconds between two calls of `should_stop` during a delay."""
    return context.check_every_ms


@bindings.delay
def attempt_timeout(context: NodeEngineContext, event: Event) -> int:
    """Milliseconds that an attempt that starts now may take."""
    return walk.attempt_bound_ms(context, event.at_ms)


@bindings.delay
def call_timeout(context: NodeEngineContext, event: Event) -> int:
    """Milliseconds that a call of `should_stop`, `on_persist` or `on_attempt` may take."""
    return context.call_timeout_ms


@bindings.output
def run_report(context: NodeEngineContext, event: Event) -> dict[str, Any]:
    """A RunReport; `error` only of a failed run."""
    return {
        "run_id": context.run_id,
        "outcome": context.outcome,
        "reason": context.reason,
        "error": context.error if context.outcome == "failed" else None,
        "state": state_of(context),
    }
