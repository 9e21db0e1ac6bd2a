"""Guards, actions and outputs of `fan_out.yaml`. The actor of the items is bound by `machine`."""

from __future__ import annotations

from typing import Any, Protocol

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event, InvocationEvent
from rawko.interpreter.data.updates import Assign, Send, Spawn, Updates, append, assign, send, spawn
from rawko.runtime.fan_out import joining

bindings = Bindings()


class FanOutContext(joining.Calls, Protocol):
    """The context of the machine: its input, and how far it is.

    Attributes:
        id: Of the invocation in the chart.
        all_inputs: By item; None where each call gets its item.
        concurrency: How many run at a time; None for all.
        tells: The machine that invoked the items hears of the end of each one.
        begun: How many were started: items are started in their order.
    """

    @property
    def id(self) -> str: ...
    @property
    def src(self) -> str: ...
    @property
    def all_inputs(self) -> Any: ...
    @property
    def concurrency(self) -> int | None: ...
    @property
    def on_restore(self) -> Any: ...
    @property
    def tells(self) -> bool: ...
    @property
    def begun(self) -> int: ...


# ---------------------------------------------------------------- guards


@bindings.guard
def is_joined(context: FanOutContext, event: Event) -> bool:
    """As many items are done as are wanted."""
    return joining.is_joined(context)


@bindings.guard
def cannot_join(context: FanOutContext, event: Event) -> bool:
    """Too few items are left."""
    return joining.cannot_join(context)


@bindings.guard
def is_from_item(context: FanOutContext, event: Event) -> bool:
    """An item's actor has sent the event, not the machine that invoked them all."""
    return isinstance(event, InvocationEvent)


# ---------------------------------------------------------------- actions


@bindings.action
def start_first(context: FanOutContext, event: Event) -> Updates:
    """Start as many items as may run at a time."""
    count = len(context.all_items)
    if context.concurrency is not None:
        count = min(count, context.concurrency)
    return (assign(begun=count), *(_start(context, index) for index in range(count)))


@bindings.action
def start_next(context: FanOutContext, event: Event) -> Updates:
    """Start the next item in place of the one that has ended, unless all is decided."""
    if context.begun == len(context.all_items) or joining.is_joined(context) or joining.cannot_join(context):
        return None
    return assign(begun=context.begun + 1), _start(context, context.begun)


@bindings.action
def keep_output(context: FanOutContext, event: InvocationEvent) -> Updates:
    """An item is done."""
    ended = {"index": int(event.id), "status": "done", "output": event.output}
    return append("ended", ended), Assign({"done": context.done + 1})


@bindings.action
def keep_error(context: FanOutContext, event: InvocationEvent) -> Updates:
    """An item has failed."""
    ended = {"index": int(event.id), "status": "error", "error": event.error}
    return append("ended", ended), Assign({"failed": context.failed + 1})


@bindings.action
def tell_end(context: FanOutContext, event: InvocationEvent) -> Updates:
    """The machine that invoked the items hears of each end, where its chart asks for it."""
    if not context.tells:
        return None
    ended = context.ended[-1]
    return send(f"each.invoke.{context.id}", {**ended, "item": context.all_items[ended["index"]]}, to="parent")


@bindings.action
def pass_to_parent(context: FanOutContext, event: InvocationEvent) -> Send:
    """An event of an item's actor goes to the machine that invoked it, as it is."""
    return send(event.name, event.data, to="parent")


@bindings.action
def pass_to_items(context: FanOutContext, event: Event) -> Updates:
    """An event for the invocation goes to each item that is running."""
    ended = {one["index"] for one in context.ended}
    return [send(event.name, event.data, to=str(index)) for index in range(context.begun) if index not in ended]


# ---------------------------------------------------------------- outputs


@bindings.output
def joined_output(context: FanOutContext, event: Event) -> Any:
    """What the invocation comes to."""
    return {"output": joining.joined(context)}


@bindings.output
def failure(context: FanOutContext, event: Event) -> Any:
    """The error of the invocation."""
    return {"error": joining.failure(context)}


def _start(context: FanOutContext, index: int) -> Spawn:
    given = context.all_items if context.all_inputs is None else context.all_inputs
    return spawn(context.src, id=str(index), input=given[index], on_restore=context.on_restore)
