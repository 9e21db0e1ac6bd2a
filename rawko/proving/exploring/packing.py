"""States of a system as integers, so that a step changes only the bits of the regions that it concerns.

bits    outside | region 0 | region 1 | ... | ended regions | running invocations | timers and queue
step    state ^ difference, where the difference is computed once for these bits of the regions it concerns
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rawko.interpreter.compiled.outlines import is_complete
from rawko.proving.control import ControlStep
from rawko.proving.exploring.regions import OUTSIDE, Regions
from rawko.proving.outcomes import Control
from rawko.proving.system import SystemState, Waiting

_SPARE = 6
"""Additional bits for a field with several active states at once (parallel states inside it) or with history."""


class TooNarrow(Exception):
    """A field has more values than its bits can distinguish."""

    def __init__(self, field: int) -> None:
        self.field = field


class Outside(NamedTuple):
    """The state of a machine outside its regions; hashable.

    Attributes:
        active: States, by index.
        more: History records and other facts outside the regions.
        running: Running invocations, as bits.
    """

    active: frozenset[int]
    more: tuple[Any, ...]
    running: int


class Packing:
    """Maps the states of one system to integers.

    Args:
        wider: Additional bits by field, where an exploration found the field too narrow.

    Attributes:
        low: All bits except those of timers and queue.
        width: The number of these bits.
        waiting: Timers and queue, by the number in the bits above `low`; 0 is none.
    """

    def __init__(self, step: ControlStep, regions: Regions, wider: dict[int, int]) -> None:
        self._step = step
        self._regions = regions
        structure = step.structure
        count = len(regions.roots)
        sizes = [sum(region == OUTSIDE for region in regions.of)]
        sizes += [structure.last[root] - root + 1 for root in regions.roots]
        plain = [not structure.has_history and not structure.is_parallel[0]]
        plain += [self._is_plain(root) for root in regions.roots]
        self._widths = [
            (size + 2).bit_length() + (0 if is_plain else _SPARE) + wider.get(field, 0)
            for field, (size, is_plain) in enumerate(zip(sizes, plain, strict=True))
        ]
        self._widths[0] += (step.data.count - 1).bit_length()
        self._shifts = [sum(self._widths[:field]) for field in range(count + 1)]
        self._ended_at = sum(self._widths)
        self._running_at = self._ended_at + count
        self.width = self._running_at + len(step.invocations)
        self.low = (1 << self.width) - 1
        nothing: tuple[Any, ...] = (frozenset(), ())
        self._values: list[list[tuple[Any, ...]]] = [[], *([nothing] for _ in range(count))]
        self._numbers: list[dict[tuple[Any, ...], int]] = [{}, *({nothing: 0} for _ in range(count))]
        self._codes: dict[int, int] = {}
        self._controls: dict[int, int] = {}
        self.waiting: list[tuple[tuple[Waiting, ...], tuple[str, ...]]] = [((), ())]
        self._waiting_numbers = {self.waiting[0]: 0}
        region_of = {invoke.id: regions.of[index] for index, s in enumerate(structure.states) for invoke in s.invoke}
        self._running_in = [0] * (count + 1)
        for id, bit in step.bit.items():
            self._running_in[region_of[id] + 1] |= bit

    def _is_plain(self, root: int) -> bool:
        structure = self._step.structure
        inside = range(root, structure.last[root] + 1)
        return not any(structure.is_parallel[state] or structure.is_history[state] for state in inside)

    # ------------------------------------------------------------ masks

    def mask(self, concerned: Iterable[int] | None) -> int:
        """Bits of these regions, with what is outside and whether other regions have ended; None: all bits."""
        if concerned is None:
            return self.low
        found = self.own_mask(concerned)
        for together in self._regions.ending.values():
            for region in together:
                found |= 1 << (self._ended_at + region)
        return found

    def own_mask(self, regions: Iterable[int]) -> int:
        """Bits of these regions and of what is outside all regions."""
        found = self._field(0) | self._running_in[0] << self._running_at
        for region in regions:
            found |= self._field(region + 1) | self._running_in[region + 1] << self._running_at
        return found

    def others_ended(self, concerned: Iterable[int] | None) -> list[int]:
        """For each parallel state that can end: the bits that say that all of its other regions have ended."""
        if concerned is None:
            return []
        own = set(concerned)
        bits = [
            sum(1 << (self._ended_at + region) for region in together if region not in own)
            for together in self._regions.ending.values()
        ]
        return [found for found in bits if found]

    def running(self, bits: int) -> int:
        """Running invocations, shifted to their bits."""
        return bits << self._running_at

    def _field(self, field: int) -> int:
        return ((1 << self._widths[field]) - 1) << self._shifts[field]

    # ---------------------------------------------------------------- codes

    def code(self, state: SystemState) -> int:
        """The code of a state.

        Raises:
            TooNarrow: See there.
        """
        found = self._codes.get(state.control)
        if found is None:
            found = self._codes[state.control] = self._code(self._step.controls[state.control])
            self._controls[found] = state.control
        return found | state.running << self._running_at | self.waiting_number(state.timers, state.queue) << self.width

    def waiting_number(self, timers: tuple[Waiting, ...], queue: tuple[str, ...]) -> int:
        """The number of timers and queue; a new one where they were not seen before."""
        both = (timers, queue)
        found = self._waiting_numbers.get(both)
        if found is None:
            found = self._waiting_numbers[both] = len(self.waiting)
            self.waiting.append(both)
        return found

    def state(self, code: int) -> SystemState:
        """The state of a code."""
        timers, queue = self.waiting[code >> self.width]
        low = code & self.low
        control = low & ((1 << self._running_at) - 1)
        return SystemState(self._control(control), low >> self._running_at, timers, queue)

    def outside(self, code: int) -> Outside:
        """The part of a code outside the regions."""
        active, *more = self._values[0][code & ((1 << self._widths[0]) - 1)]
        return Outside(active, tuple(more), code >> self._running_at & self._running_in[0])

    def is_done(self, code: int) -> bool:
        """Whether the machine has finished in the state of a code."""
        return bool(self._values[0][code & ((1 << self._widths[0]) - 1)][3])

    def seen_active(self) -> set[int]:
        """States of the chart that are active in at least one found state."""
        return {state for values in self._values for value in values for state in value[0]}

    def _control(self, code: int) -> int:
        found = self._controls.get(code)
        if found is None:
            values = [
                self._values[field][(code >> shift) & ((1 << width) - 1)]
                for field, (shift, width) in enumerate(zip(self._shifts, self._widths, strict=True))
            ]
            configuration = frozenset().union(*(value[0] for value in values))
            history = tuple(sorted(entry for value in values for entry in value[1]))
            found = self._step.number_of(configuration, history, values[0][2], values[0][3], values[0][4])
            self._controls[code] = found
            self._codes[found] = code
        return found

    def _code(self, control: Control) -> int:
        of = self._regions.of
        states: list[list[int]] = [[] for _ in self._widths]
        for state in control.node.configuration:
            states[of[state] + 1].append(state)
        records: list[list[Any]] = [[] for _ in self._widths]
        for record in control.history:
            records[of[record[0]] + 1].append(record)
        found = 0
        for field, shift in enumerate(self._shifts):
            value: tuple[Any, ...] = (frozenset(states[field]), tuple(records[field]))
            if field == 0:
                value = (*value, control.idle_choice, control.is_done, control.data)
            found |= self._number(field, value) << shift
        for together in self._regions.ending.values():
            for region in together:
                if is_complete(self._step.structure, self._regions.roots[region], set(states[region + 1])):
                    found |= 1 << (self._ended_at + region)
        return found

    def _number(self, field: int, value: tuple[Any, ...]) -> int:
        numbers = self._numbers[field]
        found = numbers.get(value)
        if found is None:
            found = numbers[value] = len(numbers)
            self._values[field].append(value)
            if found >> self._widths[field]:
                raise TooNarrow(field)
        return found
