"""The rules by which checks and answers determine the best candidate. Pure.

checks  a passed, b failed                    a      "check": b is out, no model is asked
one     a                                     a      "only"
two     first answer a, second answer a       a      "agreed"
three   a, b, then b                          b      "majority"
three   a, b, then c                          the cheapest of the three, "cheapest"
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from rawko.machines.judge.context import Candidate, JudgeAnswer

Rule = Literal["only", "check", "agreed", "majority", "cheapest"]
MAX_QUESTIONS: Final = 3


class Decision(NamedTuple):
    """The name of the best candidate, and the rule that determined it."""

    winner: str
    rule: Rule


def compared(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates that are compared: if one has passed its check, those whose check failed are left out."""
    if any(one.passed for one in candidates):
        return tuple(one for one in candidates if one.passed is not False)
    return tuple(candidates)


def decision(candidates: Sequence[Candidate], answers: Sequence[JudgeAnswer], seed: int | str) -> Decision | None:
    """The best candidate; None where the model must be asked once more."""
    left = compared(candidates)
    if len(left) == 1:
        return Decision(left[0].name, "only" if len(candidates) == 1 else "check")
    votes = [answer.best for answer in answers]
    if len(votes) < 2:
        return None
    name, count = Counter(votes).most_common(1)[0]
    if count > 1:
        return Decision(name, "agreed" if len(votes) == 2 else "majority")
    if len(votes) < MAX_QUESTIONS:
        return None
    named = sorted((one for one in left if one.name in votes), key=lambda one: one.name)
    random.Random(f"{seed}:equal").shuffle(named)
    return Decision(min(named, key=price).name, "cheapest")


def price(candidate: Candidate) -> tuple[bool, float, int]:
    """Sort key of a candidate's price: a known cost before an unknown one, the lower cost, the fewer tokens."""
    return candidate.cost_usd is None, candidate.cost_usd or 0.0, candidate.tokens


def shown_order(contents: Sequence[str], seed: int | str, number: int) -> list[int]:
    """Indices of the candidates in the order in which a question shows them; it depends on their contents and the
    seed, not on their names or their order in the input.

        contents  ["b...", "a...", "c..."], sorted: 1 0 2, shuffled by the seed: 0 2 1
        question 0  0 2 1      question 1  1 2 0 (the other way round)      question 2  shuffled anew

    Args:
        contents: The shown contents of each candidate, as one text.
        number: Number of the question, from 0.
    """
    order = sorted(range(len(contents)), key=lambda index: contents[index])
    random.Random(f"{seed}:{number if number > 1 else 0}").shuffle(order)
    return order[::-1] if number == 1 else order
