"""Public names of a package that load on first use: importing one module of the package does not load the others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, whose import takes time

if TYPE_CHECKING:
    from typing import Any


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: The package's `__name__`.
        homes: The public names by the module that defines them.
    """
    modules = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # Python finds it there next time, without this call
        return value

    return find
