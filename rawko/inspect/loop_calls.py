"""Calls into the program's event loop: asks which events its actors would take, sends events, takes snapshots.

An actor belongs to the thread of its loop. All code here runs in that loop, between two steps, and the server waits for
it with a timeout: a blocked loop is reported as an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

from rawko.chart.definition import Chart
from rawko.config import ConfigError
from rawko.inspect.json_values import brief
from rawko.inspect.sources import Source, actor_at
from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.running.explain import Refusal
from rawko.runtime.actor import Actor
from rawko.runtime.errors import RuntimeFault

PATIENCE_S: Final = 3.0
MAX_DATA_CHARS: Final = 100_000
ITS_OWN: Final = "a bare Interpreter accepts events only from its own thread"
T = TypeVar("T")


async def events(source: Source, given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The events that each running actor knows, each with the reason why it would not be taken now; "" where it would.

    Args:
        given: An event that a person wants to send: {"actor", "event", "data"}; all others are checked without data.

    Raises:
        ConfigError: The program does not answer.
    """
    return await _in_loop(source, _events(source, given or {}))


async def _events(source: Source, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    root = _root(source)
    found: list[dict[str, Any]] = []
    async with root.session.turn:
        for path in sorted(root.session.actors):
            actor = actor_at(source, path)
            if actor is None or not actor.interpreter.is_started:
                continue
            for name in sendable(actor.interpreter.chart):
                data = given.get("data") if (given.get("actor"), given.get("event")) == (path, name) else None
                why = _why_not(actor, name, data if isinstance(data, Mapping) else {})
                found.append({"actor": path, "event": name, "why_not": why})
    return found


def _why_not(actor: Actor, name: str, data: Mapping[str, Any]) -> str:
    try:
        if actor.interpreter.can(name, **data):
            return ""
        return "; ".join(dict.fromkeys(map(_words, actor.interpreter.why_not(name, **data)))) or "it would not be taken"
    except Exception as error:  # noqa: BLE001 - the program's own guards
        return f"{type(error).__name__}: {error}"


def _words(refusal: Refusal) -> str:
    told = f"{refusal.reason} [{refusal.guard}]" if refusal.guard else refusal.reason
    told += f": {refusal.detail}" if refusal.detail else ""
    reads = ", ".join(f"{name} {brief(value, 60)}" for name, value in refusal.reads.items())
    return f"{told} (saw {reads})" if reads else told


def sendable(chart: Chart) -> list[str]:
    """The events that a person may send: events of the chart's transitions, without those that the machine itself
    raises."""
    names = dict.fromkeys(name for transition in chart.transitions for name in transition.events)
    return [name for name in names if not name.startswith(_OWN) and "*" not in name]


_OWN: Final = ("after.", "done.", "each.", "error.")


async def send(source: Source, path: str, name: str, data: Mapping[str, Any]) -> tuple[str, bool]:
    """Send an event to an actor; returns the result in words, and whether the event was taken.

    Raises:
        ConfigError: No such actor runs, the event is refused, or the program does not answer.
    """
    return await _in_loop(source, _send(source, path, name, data), 1.0)


async def _send(source: Source, path: str, name: str, data: Mapping[str, Any]) -> tuple[str, bool]:
    actor = actor_at(source, path)
    if actor is None:
        raise ConfigError(f"no actor {path!r} is running")
    asked = asyncio.ensure_future(actor.request(name, **data))
    await asyncio.wait({asked}, timeout=PATIENCE_S)
    if not asked.done():
        asked.add_done_callback(lambda task: task.cancelled() or task.exception())
        return f"{name} waits in the inbox of {path}", False
    try:
        step = asked.result()
    except (InterpreterError, RuntimeFault, ValueError, TypeError) as error:
        raise ConfigError(f"{name}: {error}") from error
    receipt = "taken" if step.receipt is None else step.receipt.value
    return f"{name} to {path}: {receipt}", step.receipt is None or step.receipt.is_taken


async def whole_state(source: Source) -> tuple[int, Mapping[str, Any]]:
    """A snapshot of the whole tree between two steps, and the number of the latest row at that time.

    Raises:
        ConfigError: The actor has ended, its state cannot be written as JSON, or the program does not answer.
    """
    return await _in_loop(source, _whole_state(source))


async def _whole_state(source: Source) -> tuple[int, Mapping[str, Any]]:
    root = _root(source)
    async with root.session.turn:
        if root.is_ended or not root.interpreter.is_started:
            raise ConfigError("the actor does not run")
        try:
            return source.recording.last, root.snapshot_in_turn()
        except InterpreterError as error:
            raise ConfigError(str(error)) from error


def _root(source: Source) -> Actor:
    assert source.actor is not None, "refused before"
    return source.actor


async def _in_loop(source: Source, work: Coroutine[Any, Any, T], more_s: float = 0.0) -> T:
    """Run a coroutine in the event loop of the program.

    Raises:
        ConfigError: The actor does not run, or the program does not answer in time.
    """
    actor = source.actor
    loop = None if actor is None or actor.is_ended else actor.loop
    if loop is None or not loop.is_running():
        work.close()
        raise ConfigError(ITS_OWN if actor is None else "the actor does not run now")
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError as error:
        work.close()
        raise ConfigError("the actor does not run now") from error
    patience_s = PATIENCE_S + more_s
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), patience_s)
    except TimeoutError as error:
        raise ConfigError(f"the program does not answer within {patience_s:g} s: its event loop is blocked") from error
    except asyncio.CancelledError:
        asking = asyncio.current_task()
        if asking is not None and asking.cancelling():  # the inspector is closed
            raise
        raise ConfigError("the program has ended") from None
