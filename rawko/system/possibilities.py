"""What can happen to a system next: turns of its machines, time until the next timer, ends of the caller's actors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from rawko.interpreter.data.invocation import Invocation
from rawko.system.draft import waits
from rawko.system.moves import Completed, Failed, Turn, Until, Yielded
from rawko.system.system import System, in_flight


@dataclass(frozen=True, slots=True)
class InFlight:
    """An actor of the caller's that is running: what it gives is made into an event by these methods.

    Attributes:
        path: Of the machine that invoked it.
    """

    path: str
    invocation: Invocation

    @property
    def id(self) -> str:
        return self.invocation.id

    @property
    def src(self) -> str:
        """The name under which it is bound."""
        return self.invocation.src

    def completes(self, output: Any = None) -> Completed:
        """It finishes."""
        return Completed(self.id, output, self.path, self.invocation.number)

    def fails(self, error: Any) -> Failed:
        """It fails."""
        return Failed(self.id, error, self.path, self.invocation.number)

    def yields(self, event: str, /, **data: Any) -> Yielded:
        """It sends an event, and goes on."""
        return Yielded(self.id, event, data, self.path, self.invocation.number)


class Enabled(NamedTuple):
    """What can happen next, beside events from outside, which can always come.

    Attributes:
        turns: Of machines for which something waits, in the order of the tree. Each is possible, in any order.
        until: When the next timer is due that is not due yet; None without one. Timers that are due are turns.
        in_flight: Actors of the caller's that are running.
    """

    turns: tuple[Turn, ...]
    until: Until | None
    in_flight: tuple[InFlight, ...]

    @property
    def moves(self) -> tuple[Turn | Until, ...]:
        """What happens without anything from outside: the turns; where there is none, the next timer."""
        return self.turns or (() if self.until is None else (self.until,))


def enabled(system: System) -> Enabled:
    """What can happen to a system next; nothing once the root has finished."""
    time, machines = system.time, system.machines
    turns: list[Turn] = []
    running: list[InFlight] = []
    due: float | None = None
    for path in system:
        member = machines[path]
        if waits(member, time):
            turns.append(Turn(path))
        if member.is_ended:
            continue
        running += (InFlight(path, one) for one in in_flight(machines, path))
        for timer in member.state.timers:
            if timer.due > time:
                due = timer.due if due is None else min(due, timer.due)
                break
    return Enabled(tuple(turns), None if due is None else Until(due), tuple(running))
