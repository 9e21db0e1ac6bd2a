"""The run above its lanes, as they see it: where it stands, what it can be told, and how a lane's run is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rawko.app.records.record import runs_folder
from rawko.config import Settings

if TYPE_CHECKING:
    from rawko.vocabulary.snapshot import Snapshot


class LaneRun(Protocol):
    """The run of a lane; see `rawko.app.run.run.Run`."""

    async def execute(self) -> Any: ...
    def cancel(self, who: str = "") -> None: ...


@dataclass(frozen=True, slots=True)
class Host:
    """The run above its lanes.

    Attributes:
        make: A lane's run from its settings, its order and its id; keyword `is_resumed`, or `is_cancel` for one that
            is taken up only to end it.
        capture: Takes a snapshot of the run's own files, with a label.
        step: The number of its journal's latest row.
        is_left: Whether the run stops where it stands, to go on later.
        settled: Waits until the machine has taken what its lanes have told it.
        wait: The run has to wait, for a person or a larger budget: with the question.
        halt: The run has to stop where it stands: with the reason.
    """

    settings: Settings
    run: str
    make: Callable[..., LaneRun]
    capture: Callable[[str], Awaitable[Snapshot]]
    step: Callable[[], int]
    is_left: Callable[[], bool]
    settled: Callable[[], Awaitable[None]]
    wait: Callable[[Mapping[str, Any]], None]
    halt: Callable[[str], None]

    @property
    def folder(self) -> Path:
        """Of the run's own record."""
        return runs_folder(self.settings.state_dir) / self.run
