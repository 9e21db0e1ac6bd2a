"""The verdict `stuck` for regions that share nothing: whether nothing can happen in all of them at once.

r1 has a state without a possible step, r2 has none     something can always happen in r2: never stuck
both have one, and nothing happens around them          stuck, by the shortest paths to both, one after the other
"""

from __future__ import annotations

from collections import deque
from typing import Final

from rawko.proving.exploring.exploration import Exploration
from rawko.proving.exploring.regions import OUTSIDE
from rawko.proving.outcomes import Outcome
from rawko.proving.properties import idle_states
from rawko.proving.reduction.merging import Merging
from rawko.proving.reduction.split import SplitExploration
from rawko.proving.system import Move, SystemState

MAX_STATES: Final = 200_000


class Unsure(Exception):
    """The parts do not determine the answer: the whole must be explored."""


def deadlock(split: SplitExploration) -> Merging | None:
    """A shortest path to a state in which nothing can happen; None: there is none among the found states.

    Raises:
        Unsure: The parts do not determine whether there is one.
    """
    division = split.division
    idle: dict[int, list[set[object]]] = {}
    nearest: tuple[int, Exploration, int] | None = None
    for place, part in enumerate(split.parts):
        for number in idle_states(part):
            active = part.system.step.controls[part.state(number).control].node.configuration
            parallel = next((state for state in division.groups if state in active), None)
            if parallel is not None:
                found = idle.setdefault(parallel, [set() for _ in division.groups[parallel]])
                if place < len(found):
                    found[place].add(part.compiled.packing.outside(part.codes[number]))
            elif nearest is None or len(part.way_to(number)) < nearest[0]:
                nearest = (len(part.way_to(number)), part, number)
    ways: list[Merging] = []
    if nearest is not None:
        ways.append(_merged(split, nearest[1], nearest[2]))
    for parallel, found in idle.items():
        if set.intersection(*found):
            if parallel not in division.quiet:
                raise Unsure
            if (merged := _together(split, parallel)) is None:
                raise Unsure
            ways.append(merged)
    return min(ways, key=lambda one: len(one.way), default=None)


def _merged(split: SplitExploration, part: Exploration, number: int) -> Merging:
    merging = Merging(split.system)
    if not merging.take(part.way_to(number)):
        raise Unsure
    return merging


def _together(split: SplitExploration, parallel: int) -> Merging | None:
    """A shortest path into a parallel state, continued in each group of its regions until nothing can happen there."""
    part = split.parts[0]
    best: Merging | None = None
    entries = [number for number in range(len(part)) if _is_entry(split, part, number, parallel)]
    depths = {number: len(part.way_to(number)) for number in entries}
    for number in sorted(entries, key=depths.__getitem__):
        if best is not None and depths[number] >= len(best.way):
            break
        merging = _merged(split, part, number)
        ways = [
            _to_idle(split, parallel, place, merging.state) for place in range(len(split.division.groups[parallel]))
        ]
        found = [way for way in ways if way is not None]
        if len(found) < len(ways) or not merging.take(*found) or not _is_idle(split, merging.state):
            continue
        if best is None or len(merging.way) < len(best.way):
            best = merging
    return best


def _is_entry(split: SplitExploration, part: Exploration, number: int, parallel: int) -> bool:
    """Whether the last step on the path to a state entered the parallel state."""
    controls, structure = split.system.step.controls, split.system.step.structure
    if parallel not in controls[part.state(number).control].node.configuration:
        return False
    before = part.before[number]
    if before < 0 or parallel not in controls[part.state(before).control].node.configuration:
        return True
    taken = part.kinds[part.by[number]].outcome.transitions
    return any(split.division.regions.of[structure.source[index]] == OUTSIDE for index in taken)


def _to_idle(
    split: SplitExploration, parallel: int, place: int, begin: SystemState
) -> list[tuple[Move, Outcome]] | None:
    """A shortest continuation in one group only; None: something can always happen there."""
    system, part = split.system, split.division.parts[place]
    first = part.projected(begin)
    before: dict[SystemState, tuple[SystemState, Move, Outcome] | None] = {first: None}
    waiting = deque([first])
    while waiting and len(before) < MAX_STATES:
        state = waiting.popleft()
        is_idle = True
        for move in system.moves(state):
            if part.leaves_out(system, state.control, move) or not _concerns(split, parallel, place, move):
                continue
            for outcome in system.step.outcomes(state.control, move.event, move.ending):
                target = system.follow(state, move, part.own(outcome))
                is_idle = is_idle and not outcome.problem and not outcome.transitions and target == state
                if target is not None and target not in before:
                    before[target] = (state, move, outcome)
                    waiting.append(target)
        if is_idle:
            way: list[tuple[Move, Outcome]] = []
            step = before[state]
            while step is not None:
                way.append(step[1:])
                step = before[step[0]]
            return way[::-1]
    return None


def _concerns(split: SplitExploration, parallel: int, place: int, move: Move) -> bool:
    """Whether a move belongs to a group, and not to what is outside all regions."""
    division, structure = split.division, split.system.step.structure
    group = division.groups[parallel][place]
    if move.kind in ("event", "failure"):
        sources = structure.sources(structure.event_key(move.event))
        return any(division.regions.of[state] in group for state in sources)
    return any(move.event in division.events[region] for region in group)


def _is_idle(split: SplitExploration, state: SystemState) -> bool:
    return all(
        edge.target == state and not edge.outcome.transitions and not edge.outcome.problem
        for _, edge in split.system.edges(state)
    )
