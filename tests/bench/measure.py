"""Interleaved measuring: every contender in turn, many short rounds, so that a busy moment hits all alike."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.bench.cases import Case
from tests.bench.contenders.base import Contender, Runner, Seen, Unsupported

VERIFIED_EVENTS = 50
FEW = 5
"""Slices of what takes long by itself."""


@dataclass
class Row:
    """What one contender did in one case.

    Attributes:
        microseconds: Per unit, one number per slice.
        note: Why there are none.
    """

    contender: str
    microseconds: list[float] = field(default_factory=list)
    note: str = ""

    @property
    def is_slow(self) -> bool:
        return self.microseconds[0] > 200_000

    @property
    def median(self) -> float | None:
        return median(self.microseconds) if self.microseconds else None


class Different(AssertionError):
    """A contender does not do what the others do."""


def measure(
    case: Case, contenders: Sequence[Contender], *, slices: int, slice_s: float, warm_up: bool = True
) -> list[Row]:
    """CPU time per unit of a case, for each contender that can play it.

    Raises:
        Different: A contender enters other states.
    """
    rows: list[Row] = []
    running: list[tuple[Row, Runner, int]] = []
    expected: Seen | None = None
    for contender in contenders:
        row = Row(contender.name)
        rows.append(row)
        try:
            expected = _verified(contender, case, expected)
            runner = contender.prepare(case)
        except Unsupported as reason:
            row.note = str(reason)
            continue
        running.append((row, runner, _rounds(runner, slice_s) if warm_up else 1))
    gc.collect()
    is_frozen = gc.get_freeze_count() > 0  # beside thousands of collected tests, which stay frozen
    if not is_frozen:
        gc.freeze()  # what one contender keeps is not to be collected in another's time
    try:
        for slice_ in range(slices):
            for row, runner, rounds in running:
                if slice_ < FEW or not row.is_slow:
                    row.microseconds.append(runner.measure(rounds) / rounds / case.count * 1e6)
    finally:
        if not is_frozen:
            gc.unfreeze()
        for _, runner, _ in running:
            runner.close()
    return rows


def _verified(contender: Contender, case: Case, expected: Seen | None) -> Seen:
    """The first contender says what is expected: same leaves, same number of entered states at every event."""
    if case.operation == "load":
        return []
    seen = contender.verify(case, list(case.events[:VERIFIED_EVENTS]))
    for number, (found, wanted) in enumerate(zip(seen, expected or seen, strict=True)):
        if found != wanted and found[0]:  # sismic empties the configuration of a machine that is done
            raise Different(f"{contender.name}: {case.name}: after event {number}: {found}, others {wanted}")
    return expected or seen


def _rounds(runner: Runner, slice_s: float) -> int:
    """How many rounds fill a slice, once the machine is warm."""
    rounds, seconds, warm_s = 1, 0.0, 0.0
    while (seconds := runner.measure(rounds)) < slice_s / 2:
        rounds *= 2
        warm_s += seconds
    rounds = max(1, round(rounds * slice_s / seconds))
    while (warm_s := warm_s + runner.measure(rounds)) < runner.warm_up_s:
        pass
    return rounds
