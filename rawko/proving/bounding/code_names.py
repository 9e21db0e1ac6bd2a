"""The names in the code of functions: every field that a function reads by name is one of them.

    def is_approved(context, event): return verdict_of(event) == "continue"      verdict_of, continue
    def verdict_of(event): return event.output["verdict"]                        output, verdict

The search continues with functions that these name in their own modules, and with methods and fields of classes. A name
that is not found is therefore read by none of the functions; a name that is found may be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

MAX_LOOKED_AT: Final = 5_000
"""Most functions and classes to search; with more, the names are unknown."""
_PLAIN: Final = (str, bytes, int, float, complex, bool, type(None))


def names_in(functions: Iterable[Any]) -> frozenset[str] | None:
    """All names and texts in the code of functions; None: the code of one of them is not available."""
    search = _Search()
    for function in functions:
        search.look(function)
    while search.waiting:
        if not search.take(search.waiting.pop()) or len(search.seen) > MAX_LOOKED_AT:
            return None
    return frozenset(search.names)


class _Search:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.seen: set[int] = set()
        self.waiting: list[Any] = []

    def look(self, value: Any) -> None:
        """Add a function or class to the search."""
        if id(value) not in self.seen:
            self.seen.add(id(value))
            self.waiting.append(value)

    def take(self, value: Any) -> bool:
        """Search a function or class; returns whether its code is available."""
        if isinstance(value, MethodType):
            self.look(value.__func__)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif (inner := getattr(value, "__wrapped__", None) or getattr(value, "func", None)) is not None:
            self.look(inner)
        else:
            return not callable(value)
        return True

    def _function(self, function: FunctionType) -> None:
        self._code(function.__code__, function.__globals__)
        for cell in function.__closure__ or ():
            try:
                self._used(cell.cell_contents)
            except ValueError:  # the cell is empty
                continue
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._used(default)

    def _code(self, code: CodeType, space: dict[str, Any]) -> None:
        for name in code.co_names:
            self.names.add(name)
            if name in space:
                self._used(space[name])
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, space)
            else:
                self._used(constant)

    def _used(self, value: Any) -> None:
        """Add a value that code refers to: a text, a container of texts, or a function or class written in Python."""
        if isinstance(value, str):
            self.names.add(value)
        elif isinstance(value, tuple | list | set | frozenset):
            for one in value:
                self._used(one)
        elif isinstance(value, dict):
            for key, one in value.items():
                self._used(key)
                self._used(one)
        elif isinstance(value, FunctionType | MethodType | type):
            self.look(value)

    def _class(self, kind: type) -> None:
        for one in kind.__mro__:
            if one.__module__ == "builtins":
                continue
            self.names.update(getattr(one, "__annotations__", ()))
            for name, value in vars(one).items():
                self.names.add(name)
                if isinstance(value, property):
                    value = value.fget
                self._used(value.__func__ if isinstance(value, staticmethod | classmethod) else value)
