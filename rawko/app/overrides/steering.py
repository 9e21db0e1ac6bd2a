"""Gives overrides to the machines of a running run, and reads from the journal which of them were taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rawko.app.overrides.override import ENDED, Override, Reply, why_refused
from rawko.interpreter.data.steps import Receipt
from rawko.interpreter.running.interpreter import Interpreter
from rawko.runtime.actor import Actor
from rawko.runtime.actor_parts.members import Member
from rawko.runtime.errors import ActorCrashed, ActorStopped
from rawko.runtime.journal import Journal

_PAGE = 500


async def give(actor: Actor, override: Override) -> Reply:
    """Send an override to the machine that it addresses, and wait for the step that consumes it.

    Args:
        actor: The root of the run's machines. A retry goes to the machine that waits for its next attempt.
    """
    machine = _addressed(actor, override)
    name, data = override.event
    try:
        step = await machine.request(name, **data)
    except (ActorStopped, ActorCrashed):
        return Reply(ENDED)
    receipt = Receipt.TAKEN if step.receipt is None else step.receipt
    why = "" if receipt.is_taken else why_refused(machine.interpreter, override, receipt.value)
    return Reply(receipt.value, tuple(machine.configuration), why)


def _addressed(actor: Actor, override: Override) -> Member:
    if override.kind != "retry":
        return actor
    name, data = override.event
    machines = tuple(actor.session.actors.values())
    return next((machine for machine in machines if machine.interpreter.can(name, **data)), actor)


def refusal_of(machines: Iterator[Interpreter], override: Override) -> str:
    """Why no machine of an idle run would take an override; "" where one would. The first of `machines` is the root."""
    name, data = override.event
    root = next(machines)
    asked = [root, *(machines if override.kind == "retry" else ())]
    if any(machine.can(name, **data) for machine in asked):
        return ""
    is_denied = any(refusal.reason == "guard" for refusal in root.why_not(name, **data))
    return why_refused(root, override, (Receipt.DENIED if is_denied else Receipt.NOT_HANDLED).value)


async def journalled(journal: Journal, run: str, snapshot: Mapping[str, Any] | None) -> frozenset[str]:
    """Ids of the overrides that a run's machines have taken, or that wait in their queues.

    Args:
        snapshot: The machines from which the run continues.
    """
    found = {_request(data) for data in _queued(snapshot)} if snapshot is not None else set()
    after = 0
    while rows := await journal.rows(run, after, after + _PAGE):
        found |= {_request(row.event["data"]) for row in rows if row.event is not None}
        after = rows[-1].seq
    return frozenset(found - {""})


def _request(data: Any) -> str:
    return str(data.get("request") or "") if isinstance(data, Mapping) else ""


def _queued(snapshot: Mapping[str, Any]) -> Iterator[Any]:
    """Payloads of the events that wait in the queues of a tree of machines."""
    yield from (event[-1] for event in snapshot["external"])
    for child in snapshot["children"].values():
        yield from _queued(child)
