"""A verdict in words, for summaries. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

VERDICT: Final = ("winner", "rule", "is_agreed", "votes", "reasons")
"""The fields of the judge's output that other machines record."""


def verdict_lines(judged: Mapping[str, Any]) -> list[str]:
    """The lines of a summary: the rule, then the reasons of the first answer for the winner, the winner's reason
    first."""
    votes = ", ".join(map(repr, judged["votes"]))
    told = {
        "agreed": "The judge was asked twice, in different orders, and agrees",
        "majority": f"The judge's answers differ ({votes}); two of three decide",
        "cheapest": f"The judge's answers differ ({votes}); the cheapest of them wins",
    }.get(judged["rule"], f"Decided by {judged['rule']}")
    names = sorted(judged["reasons"], key=lambda name: name != judged["winner"])
    number = next((index for index, vote in enumerate(judged["votes"]) if vote == judged["winner"]), 0)
    return [told, *(f"  {name}: {judged['reasons'][name][number]}" for name in names if judged["reasons"][name])]
