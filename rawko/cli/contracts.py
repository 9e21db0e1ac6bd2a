"""`rawko test`: the contracts beside charts, with a coverage table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rawko.cli.output import complain


def test_command(charts: Sequence[Path], *, bindings: str | None, scenario: str | None) -> int:
    """Run the contracts; 1 if one fails, 2 if there is nothing to run."""
    return complain("not wired yet")
