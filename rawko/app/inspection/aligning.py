"""Aligns the steps of two runs: by agent, event and call, never by number, so that one more step shifts nothing.

A: write a.txt | bash pytest | edit a.txt | bash pytest      pairs: (1, 1) (2, 2) (3, -) (4, -) (-, 3)
B: write a.txt | bash pytest | complete
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from rawko.app.views.steps import StepView

MAX_STEPS: Final = 4_000
"""Of each run that are aligned: the alignment takes time that grows with the product."""


def align(left: Sequence[StepView], right: Sequence[StepView]) -> list[list[int | None]]:
    """Numbers of the steps side by side; None where only the other run has one. Plumbing is left out."""
    one, two = _logical(left), _logical(right)
    matcher = SequenceMatcher(None, [_key(view) for view in one], [_key(view) for view in two], autojunk=False)
    pairs: list[list[int | None]] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            pairs += [[a.number, b.number] for a, b in zip(one[start:end], two[first:last], strict=True)]
        else:
            pairs += [[view.number, None] for view in one[start:end]]
            pairs += [[None, view.number] for view in two[first:last]]
    return pairs


def _logical(views: Sequence[StepView]) -> list[StepView]:
    kept = [view for view in views if view.kind not in ("plumbing", "snapshot") and not view.is_left_behind]
    return kept[:MAX_STEPS]


def _key(view: StepView) -> tuple[str, str, str, bool]:
    return (view.agent, view.kind, view.words, view.is_error)
