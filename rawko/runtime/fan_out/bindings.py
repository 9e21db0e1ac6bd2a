"""Guards, actions and outputs of `fan_out.yaml`. `machine` binds the actor of the items."""

from __future__ import annotations

from typing import Any, Protocol

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event, InvocationEvent
from rawko.interpreter.data.updates import Assign, Send, Spawn, Updates, append, assign, send, spawn
from rawko.runtime.fan_out import joining

bindings = Bindings()


class FanOutContext(joining.Calls, Protocol):
    """The context of the machine: its input, and its progress.

    Attributes:
        id: Of the invocation in the chart.
        all_inputs: By item; None if the input of each call is its item.
        concurrency: Most items that run at a time; None for all.
        tells: The parent's chart has a transition for `each.invoke.<id>`.
        begun: Number of items started; they are started in order.
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
    """Whether enough items are done."""
    return joining.is_joined(context)


@bindings.guard
def cannot_join(context: FanOutContext, event: Event) -> bool:
    """Whether too few items are left."""
    return joining.cannot_join(context)


@bindings.guard
def is_from_item(context: FanOutContext, event: Event) -> bool:
    """Whether the event is from an item's actor, and not from the parent machine."""
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
    """Start the next item in place of the ended one, unless the result is decided."""
    if context.begun == len(context.all_items) or joining.is_joined(context) or joining.cannot_join(context):
        return None
    return assign(begun=context.begun + 1), _start(context, context.begun)


@bindings.action
def keep_output(context: FanOutContext, event: InvocationEvent) -> Updates:
    """Record the output of an item."""
    ended = {"index": int(event.id), "status": "done", "output": event.output}
    return append("ended", ended), Assign({"done": context.done + 1})


@bindings.action
def keep_error(context: FanOutContext, event: InvocationEvent) -> Updates:
    """Record the error of an item."""
    ended = {"index": int(event.id), "status": "error", "error": event.error}
    return append("ended", ended), Assign({"failed": context.failed + 1})


@bindings.action
def tell_end(context: FanOutContext, event: InvocationEvent) -> Updates:
    """Send the parent the end of an item, if its chart has a transition for that."""
    if not context.tells:
        return None
    ended = context.ended[-1]
    return send(f"each.invoke.{context.id}", {**ended, "item": context.all_items[ended["index"]]}, to="parent")


@bindings.action
def pass_to_parent(context: FanOutContext, event: InvocationEvent) -> Send:
    """Pass an event of an item's actor to the parent, unchanged."""
    return send(event.name, event.data, to="parent")


@bindings.action
def pass_to_items(context: FanOutContext, event: Event) -> Updates:
    """Pass an event for the invocation to each running item."""
    ended = {one["index"] for one in context.ended}
    return [send(event.name, event.data, to=str(index)) for index in range(context.begun) if index not in ended]


# ---------------------------------------------------------------- outputs


@bindings.output
def joined_output(context: FanOutContext, event: Event) -> Any:
    """The output of the invocation."""
    return {"output": joining.joined(context)}


@bindings.output
def failure(context: FanOutContext, event: Event) -> Any:
    """The error of the invocation."""
    return {"error": joining.failure(context)}


def _start(context: FanOutContext, index: int) -> Spawn:
    given = context.all_items if context.all_inputs is None else context.all_inputs
    return spawn(context.src, id=str(index), input=given[index], on_restore=context.on_restore)
