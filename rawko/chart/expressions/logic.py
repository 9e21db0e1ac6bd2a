"""Guards as propositions: decides whether a guard implies others.

Calls of one name with the same arguments are one atom, and so are tests of one state: an atom has one value while
transitions are selected.

    first guard a          then  a and b        the second is never taken: whenever it is true, the first is too
    first guard a or b     then  not b          the second can be taken: if neither a nor b is true
    first guard a          then  not a          one of them is always true
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias

from rawko.chart.definition import And, CodeGuard, Constant, Guard, GuardCall, InState, Not, Or

MAX_ATOMS: Final = 8
"""With more atoms the answer is no; a truth table of 8 atoms has 2 ** 8 rows."""

Atom: TypeAlias = tuple[str, ...]
"""A call with its arguments as text (lists in arguments are not hashable), a tested state, or a code expression."""


def is_implied(guard: Guard | None, others: Sequence[Guard]) -> bool:
    """Whether one of the others is true whenever the guard is (None: always); False if there are too many atoms."""
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
    """Whether two guards have an atom in common, so that the value of one says something about the other."""
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
