"""What an actor of a machine does, noted while a test runs it: the states that it enters, and what it emits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rawko.interpreter import Step, thaw
from rawko.runtime import Actor


@dataclass(kw_only=True)
class Followed:
    """Notes of one actor.

    Attributes:
        visited: States as they were entered, over all steps.
        emitted: Events and their data.
    """

    visited: list[str] = field(default_factory=list)
    emitted: list[tuple[str, Any]] = field(default_factory=list)

    def follow(self, actor: Actor) -> None:
        """Note what the actor does from here on."""
        actor.subscribe(self._note)
        actor.on_emit(lambda event, data: self.emitted.append((event, thaw(data))))

    def _note(self, step: Step) -> None:
        for one in (step, *step.following):
            for micro in one.steps:
                self.visited += micro.entered_states
