"""`rawko test`: the contracts beside charts, with a coverage table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rawko.cli.output import complain, visible_json


def test_command(
    charts: Sequence[Path], *, bindings: str | None, scenario: str | None, as_json: bool, is_verbose: bool
) -> int:
    """Run the contracts; 1 if one fails, 2 if there is nothing to run."""
    from rawko.testing.errors import ContractsUnavailable
    from rawko.testing.run import run_contracts

    report = sys.stderr if as_json else sys.stdout
    try:
        result = run_contracts(charts, bindings, report=report, is_verbose=is_verbose, only=scenario)
    except ContractsUnavailable as error:
        return complain(str(error))
    if not result.scenarios and not result.errors:
        named = "" if scenario is None else f" whose name contains {scenario!r}"
        return complain(f"there is no scenario{named}")
    if as_json:
        print(visible_json(result.to_json()), flush=True)
    return result.exit_code
