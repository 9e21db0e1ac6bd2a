"""Further values of a parameter, with which a test is as long and shows the same: `make test-all` tries them, too."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def further(*values: object) -> Iterable[object]:
    """Values that `make test` leaves out: `parametrize("code", [ENOSPC, *further(EIO, EROFS)])`; a tuple of values
    where there are several parameters."""
    return (
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.thorough) for value in values
    )
