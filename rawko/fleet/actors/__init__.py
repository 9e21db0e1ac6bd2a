"""An application's own actors on the fleet: a queue in PostgreSQL, and workers that run them in one event loop."""

from rawko.fleet.actors.actor_queue import ActorQueue
from rawko.fleet.actors.kinds import ActorKind
from rawko.fleet.actors.records import ActorRecord, Queued
from rawko.fleet.actors.worker import ActorWorker
from rawko.fleet.calls.pruning import PrunedActors
from rawko.fleet.engine import QueueLimits
from rawko.fleet.errors import FleetError

__all__ = [
    "ActorKind",
    "ActorQueue",
    "ActorRecord",
    "ActorWorker",
    "FleetError",
    "PrunedActors",
    "QueueLimits",
    "Queued",
]
