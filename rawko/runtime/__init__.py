"""Machines at work: actors in an asyncio loop, what they invoke, the commit order, and the ports to the world."""

from __future__ import annotations

from rawko.runtime.actor import Actor
from rawko.runtime.actor_kinds import ActorFailed, ChildMachine, Done, Scope, child_machine, immediate
from rawko.runtime.errors import (
    ActorCrashed,
    ActorStopped,
    BindingsNotFound,
    InboxFull,
    JournalError,
    RuntimeFault,
    WaitTimeout,
)
from rawko.runtime.find_bindings import bound_names, find_bindings
from rawko.runtime.journal import Journal, MemoryJournal, StepRecord
from rawko.runtime.session import Session

__all__ = [
    "Actor",
    "ActorCrashed",
    "ActorFailed",
    "ActorStopped",
    "BindingsNotFound",
    "ChildMachine",
    "Done",
    "InboxFull",
    "Journal",
    "JournalError",
    "MemoryJournal",
    "RuntimeFault",
    "Scope",
    "Session",
    "StepRecord",
    "WaitTimeout",
    "bound_names",
    "child_machine",
    "find_bindings",
    "immediate",
]
