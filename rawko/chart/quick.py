"""Makes frozen dataclasses quickly, for readers that make thousands of them.

A frozen dataclass sets each field by `object.__setattr__`, which takes three times as long as a plain assignment: of a
chart of 1 000 states that was a third of its load. `quick(State)` gives a class with the same slots that is not
frozen. Its `__init__` assigns plainly, and then gives the new object the frozen class:

    make_position = quick(Position)
    make_position("a.yaml", 1, 2) == Position("a.yaml", 1, 2)      # and its type is Position
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def quick(kind: Callable[P, T]) -> Callable[P, T]:
    """What makes the same objects as a frozen dataclass with slots and no `__post_init__`, with the same arguments."""
    assert isinstance(kind, type)

    def freeze(self: Any) -> None:
        self.__class__ = kind

    rows = [(row.name, object, _default(row)) for row in fields(kind)]
    made = make_dataclass(kind.__name__, rows, slots=True, eq=False, repr=False, namespace={"__post_init__": freeze})
    return cast(Callable[P, T], made)


def _default(row: Field[Any]) -> Any:
    if row.default_factory is not MISSING:
        return field(default_factory=row.default_factory)
    return field(default=row.default)
