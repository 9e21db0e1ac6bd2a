"""Functions of a project while they are called to prove something: what they print is no part of the result."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def functions_apart() -> Iterator[None]:
    """What is printed meanwhile goes to standard error."""
    with redirect_stdout(sys.stderr):
        yield
