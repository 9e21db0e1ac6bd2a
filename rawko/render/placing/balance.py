"""Which rank each label stands in, so that no rank grows wide because all long lines carry their labels there.

A layered layout puts a line's label right behind the line's first node. Below a state that many lines lead back to,
dozens of labels would stand in one row. A label may stand in any rank that its line passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

ROOMY = {"down": 980.0, "right": 560.0}
"""A rank that is not longer than this, in pixels, is not worth a label farther from its line's beginning."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A label that may stand in one of several ranks, the most liked one first; `room` is what it takes there."""

    key: tuple[str, str]
    ranks: Sequence[int]
    room: float


def spread(taken: Mapping[int, float], choices: Iterable[Choice], roomy: float) -> dict[tuple[str, str], int]:
    """A rank for every label.

    Args:
        taken: Room that is taken in each rank by what cannot move.
        roomy: Up to this much room, the first rank that a label likes is taken.
    """
    room = dict(taken)
    limit = max(roomy, max(room.values(), default=0.0))
    found: dict[tuple[str, str], int] = {}
    for choice in sorted(choices, key=lambda each: (len(each.ranks) > 1, len(each.ranks), -each.room)):
        fits = (rank for rank in choice.ranks if room.get(rank, 0.0) + choice.room <= limit)
        rank = next(fits, None)
        if rank is None:
            rank = min(choice.ranks, key=lambda each: room.get(each, 0.0))
        room[rank] = room.get(rank, 0.0) + choice.room
        found[choice.key] = rank
    return found
