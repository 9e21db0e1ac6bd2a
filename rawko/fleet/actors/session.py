"""The session of an actor in a queue: each row notes the letter that its step consumed, so that none is consumed
twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rawko.interpreter.data.events import Event
from rawko.interpreter.data.steps import Step
from rawko.runtime.actor_parts.members import Member
from rawko.runtime.journal import Journal
from rawko.runtime.replay.recorded import Recorded
from rawko.runtime.session import LogWriter, Session

LETTER: Final = "letter"
"""Key in a row's notes: the number of the letter that the step consumed. Letters of one actor are numbered in order."""


class QueueSession(Session):
    """The session of one actor.

    Args:
        taken: Called with each letter, once the step that consumed it is in the journal.
    """

    def __init__(
        self,
        run: str,
        journal: Journal,
        *,
        taken: Callable[[int], None],
        opening: Callable[[], dict[str, Any]] | None = None,
        recorded: Recorded | None = None,
        log: LogWriter | None = None,
    ) -> None:
        super().__init__(run=run, journal=journal, opening=opening, recorded=recorded, log=log, kept=0)
        self._taken = taken
        self._awaited: dict[int, tuple[Event, int]] = {}
        notes = None if recorded is None else recorded.notes
        self.latest = int((notes or {}).get(LETTER, 0))

    def expect(self, event: Event, letter: int) -> None:
        """Register an event that is about to be queued as a letter's."""
        self._awaited[id(event)] = (event, letter)

    @property
    def is_expecting(self) -> bool:
        """Whether a letter has been queued but not consumed."""
        return bool(self._awaited)

    @property
    def is_checkpoint_due(self) -> bool:
        """Not while a letter is queued: the snapshot would contain it, and it would be given again after a resume."""
        return not self._awaited and super().is_checkpoint_due

    def notes_of(self, step: Step) -> dict[str, Any] | None:
        found = self._awaited.get(id(step.event)) if self._awaited else None
        return super().notes_of(step) if found is None else {LETTER: found[1]}

    async def commit(self, actor: Member, step: Step) -> None:
        await super().commit(actor, step)
        found = self._awaited.pop(id(step.event), None) if self._awaited else None
        if found is not None:
            self.latest = found[1]
            self._taken(found[1])
