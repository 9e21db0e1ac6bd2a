"""Running machines: actors in an asyncio loop, their invocations, the commit order, and the ports.

The public names load on first use: a program that uses only a port or a journal row imports no interpreter.
"""

from __future__ import annotations

from rawko.lazy_names import lazy_names

TYPE_CHECKING = False  # of `typing`, which costs an import

if TYPE_CHECKING:
    from rawko.runtime.actor import Actor as Actor
    from rawko.runtime.actor_kinds import ActorFailed as ActorFailed
    from rawko.runtime.actor_kinds import ChildMachine as ChildMachine
    from rawko.runtime.actor_kinds import Done as Done
    from rawko.runtime.actor_kinds import Scope as Scope
    from rawko.runtime.actor_kinds import child_machine as child_machine
    from rawko.runtime.actor_kinds import immediate as immediate
    from rawko.runtime.bindings_lookup import bound_names as bound_names
    from rawko.runtime.bindings_lookup import find_bindings as find_bindings
    from rawko.runtime.errors import ActorCrashed as ActorCrashed
    from rawko.runtime.errors import ActorExists as ActorExists
    from rawko.runtime.errors import ActorInUse as ActorInUse
    from rawko.runtime.errors import ActorStopped as ActorStopped
    from rawko.runtime.errors import BindingsNotFound as BindingsNotFound
    from rawko.runtime.errors import InboxFull as InboxFull
    from rawko.runtime.errors import JournalError as JournalError
    from rawko.runtime.errors import RuntimeFault as RuntimeFault
    from rawko.runtime.errors import SubscriberFailed as SubscriberFailed
    from rawko.runtime.errors import UnknownActor as UnknownActor
    from rawko.runtime.errors import WaitTimeout as WaitTimeout
    from rawko.runtime.journal import Journal as Journal
    from rawko.runtime.journal import MemoryJournal as MemoryJournal
    from rawko.runtime.journal import StepRecord as StepRecord
    from rawko.runtime.session import Session as Session

__all__ = [
    "Actor",
    "ActorCrashed",
    "ActorExists",
    "ActorFailed",
    "ActorInUse",
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
    "SubscriberFailed",
    "UnknownActor",
    "WaitTimeout",
    "bound_names",
    "child_machine",
    "find_bindings",
    "immediate",
]

__getattr__ = lazy_names(
    __name__,
    {
        "rawko.runtime.actor": ("Actor",),
        "rawko.runtime.actor_kinds": (
            "ActorFailed",
            "ChildMachine",
            "Done",
            "Scope",
            "child_machine",
            "immediate",
        ),
        "rawko.runtime.errors": (
            "ActorCrashed",
            "ActorExists",
            "ActorInUse",
            "ActorStopped",
            "BindingsNotFound",
            "InboxFull",
            "JournalError",
            "RuntimeFault",
            "SubscriberFailed",
            "UnknownActor",
            "WaitTimeout",
        ),
        "rawko.runtime.bindings_lookup": (
            "bound_names",
            "find_bindings",
        ),
        "rawko.runtime.journal": (
            "Journal",
            "MemoryJournal",
            "StepRecord",
        ),
        "rawko.runtime.session": ("Session",),
    },
)
