"""Answers of a monitor's guards in its bounds file: fixed ones, and ones that depend on the machine's guards.

answers:
  has_grown: true                                               fixed
  may_have_written: not begins_agent and not ran_read_only_tool depends on the answers of these in the same step

  A guard of the machine that was not asked in the step, or has both answers, is unknown: `false and unknown` is
  false, `true and unknown` is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from rawko.chart import definition as d
from rawko.chart.definition import Position
from rawko.chart.expressions.formatting import format_guard
from rawko.chart.expressions.parser import parse_guard
from rawko.chart.expressions.tokens import ExpressionError
from rawko.proving.bounds import BoundsError

Said: TypeAlias = bool | d.Guard


def read_answers(answers: Mapping[str, bool | str]) -> dict[str, Said]:
    """The answers of a bounds file, with expressions parsed.

    Raises:
        BoundsError: An answer is not a guard expression.
    """
    found: dict[str, Said] = {}
    for name, said in answers.items():
        if isinstance(said, bool):
            found[name] = said
            continue
        try:
            found[name] = parse_guard(said, lambda offset: Position("", 1, offset + 1))
        except ExpressionError as error:
            raise BoundsError(
                f"answers.{name} is {said!r}; true, false, or guards of the machine joined by `and`, `or` and `not` "
                f"are accepted: {error}"
            ) from error
    return found


def atoms_of(said: Said) -> frozenset[str]:
    """Guards of the machine that an answer refers to."""
    if isinstance(said, bool):
        return frozenset()
    if isinstance(said, d.Not):
        return atoms_of(said.operand)
    if isinstance(said, d.And | d.Or):
        return frozenset().union(*(atoms_of(one) for one in said.operands))
    return frozenset() if isinstance(said, d.Constant) else frozenset({format_guard(said)})


def answer_of(said: Said, given: Mapping[str, bool]) -> bool | None:
    """The value of an answer; None: it may be true or false.

    Args:
        given: Answers of the machine's guards in the step.
    """
    if isinstance(said, bool):
        return said
    if isinstance(said, d.Not):
        answer = answer_of(said.operand, given)
        return None if answer is None else not answer
    if isinstance(said, d.And | d.Or):
        decisive = isinstance(said, d.Or)
        answers = [answer_of(one, given) for one in said.operands]
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    return said.value if isinstance(said, d.Constant) else given.get(format_guard(said))
