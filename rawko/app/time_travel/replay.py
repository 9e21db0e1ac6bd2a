"""Stepping through a recorded run once more, from its first row, with no model and no tool: does it come out alike?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rawko.app.records.addresses import Address
from rawko.app.time_travel.recorded_run import open_past
from rawko.config import Settings
from rawko.runtime.replay.replay import ReplayError
from rawko.runtime.replay.rewind_records import jump_of


@dataclass(frozen=True, slots=True)
class Verified:
    """What a replay found.

    Attributes:
        steps: Rows that were stepped through, up to the first that came out otherwise.
        until: The row that was asked for.
        problem: What came out otherwise, with the row's number; None where all are identical.
        state: Active states at the end.
    """

    run: str
    steps: int
    until: int
    state: tuple[str, ...]
    problem: str | None = None
    step: int | None = None

    @property
    def is_identical(self) -> bool:
        return self.problem is None

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "is_identical": self.is_identical,
            "steps": self.steps,
            "until": self.until,
            "step": self.step,
            "problem": self.problem,
            "state": list(self.state),
        }


async def verify(address: Address, current: Settings) -> Verified:
    """Replay a run to a step, or to its end, comparing states, context, effects and receipts with what was recorded.

    Raises:
        ConfigError: There is no such run or step, or its journal cannot be read.
    """
    async with open_past(address.run, current) as past:
        until = await past.step(address.place)
        tree = past.fresh(is_exact=True)
        steps = 0
        try:
            async for record in past.rows(0, until):
                tree.step(record)
                steps += jump_of(record) is None
        except ReplayError as error:
            return Verified(
                address.run, steps, until, tuple(tree.root.interpreter.configuration), str(error), error.seq
            )
        return Verified(address.run, steps, until, tuple(tree.root.interpreter.configuration))
