"""Separates the output of a project's functions from results while they are called for a proof."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def functions_apart() -> Iterator[None]:
    """A context in which standard output goes to standard error."""
    with redirect_stdout(sys.stderr):
        yield
