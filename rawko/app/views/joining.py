"""Joins steps to lines for people: a tool's step gets the files of the snapshot that follows it.

29  bash make        the tool has ended; its files are captured next
30  files after bash out.txt +3           is shown as    29  bash make   out.txt +3
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rawko.app.views.steps import StepKind, StepView

CAPTURING: Final = "capturing_snapshot"
"""The state of an agent's machine between a tool's end and the snapshot of its files."""


class Joiner:
    """Holds the step of a tool back until its snapshot has come, and drops steps that a list for people leaves out.

    Args:
        is_whole: No step is dropped.
    """

    def __init__(self, *, is_whole: bool = False) -> None:
        self._is_whole = is_whole
        self._held: StepView | None = None

    def take(self, view: StepView) -> list[StepView]:
        """The lines that are complete with this step, in order."""
        held = self._held
        if held is not None and view.of_step == held.number:
            self._held = None
            joined = replace(held, files=view.files, snapshot=view.snapshot)
            return [joined, view] if self._is_whole else [joined]
        if view.kind is StepKind.PLUMBING or (view.kind is StepKind.SNAPSHOT and not view.files):
            return [*self.end(), view] if self._is_whole else []
        lines = self.end()
        if CAPTURING in view.states:
            self._held = view
            return lines
        return [*lines, view]

    def end(self) -> list[StepView]:
        """The line that is held back, if there is one; called where its snapshot does not follow."""
        held, self._held = self._held, None
        return [] if held is None else [held]
