"""Guards of the node engine: pure conditions on context and event, one function per name in the chart.

The guards of the state `deciding` are the conditions of `decide`.
"""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.node_engine import walk
from rawko.machines.node_engine.context import CallbackName, NodeEngineContext
from rawko.machines.node_engine.decide import TABLE, Question

bindings = Bindings()


@bindings.guard
def lacks_input(context: NodeEngineContext, event: Event) -> bool:
    """The first node or the seed is missing (C-67)."""
    return bool(walk.missing_input(context))


@bindings.guard
def has_result(context: NodeEngineContext, event: Event) -> bool:
    """The last attempt has a result."""
    return context.result is not None


@bindings.guard
def has_failed(context: NodeEngineContext, event: Event) -> bool:
    """An error that ends the run is recorded."""
    return context.error is not None


@bindings.guard
def has_callback(context: NodeEngineContext, event: Event, *, name: CallbackName) -> bool:
    """This callback is to be called."""
    return name in context.callbacks


# ---------------------------------------------------------------- stopping


@bindings.guard
def is_stopping(context: NodeEngineContext, event: Event) -> bool:
    """The run was asked to stop."""
    return context.stop_reason is not None


@bindings.guard
def is_budget_spent(context: NodeEngineContext, event: Event) -> bool:
    """A budget is used up (NE-007)."""
    return walk.spent_budget(context, event.at_ms) is not None


@bindings.guard
def is_out_of_time(context: NodeEngineContext, event: Event) -> bool:
    """The time budget is used up."""
    return walk.is_out_of_time(context, event.at_ms)


@bindings.guard
def says_stop(context: NodeEngineContext, event: Event) -> bool:
    """`should_stop` answered that the run must stop."""
    return bool(event.output["stop"])


# ---------------------------------------------------------------- deciding


def _bind(asks: Question) -> None:
    def guard(context: NodeEngineContext, event: Event) -> bool:
        return asks(context)

    bindings.add("guard", asks.__name__, guard)


for _asks, _ in TABLE:
    _bind(_asks)
