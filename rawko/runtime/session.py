"""What the actors of one tree share: the journal and its numbering, the inspection stream, the log, the ids.

The commit order lives here: step, journal commit, inspect; the actor starts the effects afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rawko.interpreter.steps import Step
from rawko.runtime.errors import JournalError
from rawko.runtime.inspection import InspectionStream
from rawko.runtime.journal import Journal, MemoryJournal, record_of

if TYPE_CHECKING:
    from rawko.runtime.actor import Actor

_COMMIT_RETRIES_S = (0.05, 0.2, 1.0)
"""A commit is tried again before a model call would have to be repeated."""

CHECKPOINT_EVERY = 200
"""Rows between two full snapshots: the bound of what a resume replays."""

LogWriter = Callable[[str, str, Mapping[str, Any]], None]
"""(level, message, fields)."""


class Session:
    """One run: a tree of actors and what they have in common.

    Args:
        run: Id of the run; a new one by default.
        log: Where `log` lines go; structlog by default.
    """

    def __init__(self, *, run: str | None = None, journal: Journal | None = None, log: LogWriter | None = None) -> None:
        self.run = run or uuid4().hex[:12]
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self.stream = InspectionStream()
        self.actors: dict[str, Actor] = {}
        self._write_log = log or write_structlog
        self._seq = 0
        self._epoch = 0
        self._lock = asyncio.Lock()

    async def commit(self, actor: Actor, step: Step) -> int:
        """Write a step, then show it. Returns its row number.

        Raises:
            JournalError: It was not written.
        """
        async with self._lock:  # rows of the whole tree are numbered in one order
            if not self._epoch:
                self._epoch = await self.journal.begin(self.run)
            record = record_of(step, run=self.run, seq=self._seq + 1, epoch=self._epoch, actor=actor.path)
            for delay_s in (*_COMMIT_RETRIES_S, None):
                try:
                    await self.journal.append(record)
                    break
                except JournalError:
                    if delay_s is None:
                        raise
                    await asyncio.sleep(delay_s)
            self._seq = record.seq
        self.stream.publish(
            "step",
            actor.path,
            step.time,
            row=record.seq,
            event=record.event,
            receipt=record.receipt,
            configuration=record.configuration,
            transitions=[(t.source, t.target, t.event) for t in step.transitions],
            updates=record.updates,
            effects=record.effects,
        )
        return record.seq

    def log(self, actor: Actor, message: str, level: str, data: Mapping[str, Any]) -> None:
        """Write a log line and show it."""
        self.stream.publish("log", actor.path, actor.now(), message=message, level=level, data=dict(data))
        self._write_log(level, message, {"run": self.run, "actor": actor.path, **data})

    def register(self, actor: Actor) -> None:
        """Make an actor known by its path and, if it has one, its system id."""
        for name in (actor.path, actor.system_id):
            if name is not None:
                self.actors[name] = actor

    def forget(self, actor: Actor) -> None:
        for name in (actor.path, actor.system_id):
            if name is not None and self.actors.get(name) is actor:
                del self.actors[name]


def write_structlog(level: str, message: str, data: Mapping[str, Any]) -> None:
    """Write through structlog, which is loaded with the first line."""
    import structlog

    method = getattr(structlog.get_logger("rawko"), level, None)
    if method is None:
        method = structlog.get_logger("rawko").info
    method(message, **{(f"field_{key}" if key == "event" else key): value for key, value in data.items()})
