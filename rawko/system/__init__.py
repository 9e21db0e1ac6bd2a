"""A whole tree of machines as a value, and its pure step: what an `Actor` does in asyncio, without asyncio.

The public names load on first use.
"""

from __future__ import annotations

from rawko.lazy_names import lazy_names

TYPE_CHECKING = False  # of `typing`, which costs an import

if TYPE_CHECKING:
    from rawko.system.dumps import dump as dump
    from rawko.system.dumps import load as load
    from rawko.system.dumps import snapshot as snapshot
    from rawko.system.effects import Asked as Asked
    from rawko.system.effects import ChildEnded as ChildEnded
    from rawko.system.effects import ChildStarted as ChildStarted
    from rawko.system.effects import StepTaken as StepTaken
    from rawko.system.effects import Undelivered as Undelivered
    from rawko.system.errors import NotPossible as NotPossible
    from rawko.system.moves import Completed as Completed
    from rawko.system.moves import External as External
    from rawko.system.moves import Failed as Failed
    from rawko.system.moves import Turn as Turn
    from rawko.system.moves import Until as Until
    from rawko.system.moves import Yielded as Yielded
    from rawko.system.possibilities import Enabled as Enabled
    from rawko.system.possibilities import InFlight as InFlight
    from rawko.system.possibilities import enabled as enabled
    from rawko.system.settling import advance as advance
    from rawko.system.settling import settle as settle
    from rawko.system.stepping import initial as initial
    from rawko.system.stepping import post as post
    from rawko.system.stepping import transition as transition
    from rawko.system.system import Member as Member
    from rawko.system.system import System as System

_HOMES = {
    "rawko.system.dumps": ("dump", "load", "snapshot"),
    "rawko.system.effects": ("Asked", "ChildEnded", "ChildStarted", "StepTaken", "Undelivered"),
    "rawko.system.errors": ("NotPossible",),
    "rawko.system.moves": ("Completed", "External", "Failed", "Turn", "Until", "Yielded"),
    "rawko.system.possibilities": ("Enabled", "InFlight", "enabled"),
    "rawko.system.settling": ("advance", "settle"),
    "rawko.system.stepping": ("initial", "post", "transition"),
    "rawko.system.system": ("Member", "System"),
}

__all__ = [
    "Asked",
    "ChildEnded",
    "ChildStarted",
    "Completed",
    "Enabled",
    "External",
    "Failed",
    "InFlight",
    "Member",
    "NotPossible",
    "StepTaken",
    "System",
    "Turn",
    "Undelivered",
    "Until",
    "Yielded",
    "advance",
    "dump",
    "enabled",
    "initial",
    "load",
    "post",
    "settle",
    "snapshot",
    "transition",
]

__getattr__ = lazy_names(__name__, _HOMES)
