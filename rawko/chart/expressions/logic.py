"""Guards as propositions: whether one of them can hold while others do not.

Calls of one name with the same arguments, and tests of one state, are one atom: while transitions are selected, it has
one answer.

    a          then  a and b        the second is never taken: whenever it holds, the first does
    a or b     then  not b          can be taken: where neither a nor b holds
    a          then  not a          one of both always holds
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias

from rawko.chart.definition import And, CodeGuard, Constant, Guard, GuardCall, InState, Not, Or

MAX_ATOMS: Final = 8
"""With more of them the answer is no: 2 ** 8 rows of a truth table are looked at."""

Atom: TypeAlias = tuple[str, ...]
"""A call with its arguments as text, since a list among them cannot be looked up; a tested state; an expression."""


def is_implied(guard: Guard | None, others: Sequence[Guard]) -> bool:
    """Whether one of the others holds whenever the guard does (None: always). "No" also where that is too much work."""
    first = Constant(True) if guard is None else guard
    atoms: dict[Atom, None] = dict.fromkeys(_atoms(first))
    for other in others:
        atoms.update(dict.fromkeys(_atoms(other)))
        if len(atoms) > MAX_ATOMS:
            return False
    for row in product((False, True), repeat=len(atoms)):
        truth = dict(zip(atoms, row, strict=True))
        if _holds(first, truth) and not any(_holds(other, truth) for other in others):
            return False
    return True


def shares_an_atom(guard: Guard, other: Guard) -> bool:
    """Whether the answer of one guard says anything about the other's."""
    return not set(_atoms(guard)).isdisjoint(_atoms(other))


def _atoms(guard: Guard) -> Iterator[Atom]:
    match guard:
        case GuardCall() | InState() | CodeGuard():
            yield _atom(guard)
        case Not(operand):
            yield from _atoms(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _atoms(operand)
        case Constant():
            return


def _atom(guard: GuardCall | InState | CodeGuard) -> Atom:
    match guard:
        case GuardCall(name, arguments):
            return ("call", name, *sorted(map(repr, arguments)))
        case InState(state):
            return ("state", state)
        case CodeGuard(code):
            return ("code", code)


def _holds(guard: Guard, truth: Mapping[Atom, bool]) -> bool:
    match guard:
        case GuardCall() | InState() | CodeGuard():
            return truth[_atom(guard)]
        case Not(operand):
            return not _holds(operand, truth)
        case And(operands):
            return all(_holds(operand, truth) for operand in operands)
        case Or(operands):
            return any(_holds(operand, truth) for operand in operands)
        case Constant(value):
            return value
