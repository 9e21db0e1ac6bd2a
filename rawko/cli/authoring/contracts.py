"""`rawko test`: the contracts beside charts, with a coverage table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rawko.cli.authoring.chart_files import NoSuchChart, chart_files
from rawko.cli.output import complain, nobody_reads, visible_json
from rawko.cli.trust.question import judge

if TYPE_CHECKING:
    from rawko.testing.run import ContractResult


def test_command(
    charts: Sequence[Path],
    *,
    bindings: str | None,
    scenario: str | None,
    as_json: bool,
    is_verbose: bool,
    is_trusted: bool = False,
) -> int:
    """Run the contracts; 1 if one fails, 2 if there is nothing to run, or the Python around them is not trusted."""
    from rawko.testing.errors import ContractsUnavailable
    from rawko.trust.errors import ConfigError

    report = sys.stderr if as_json else sys.stdout
    try:
        charts = chart_files(charts, with_feature=True)
        result = trusted_results(
            charts, bindings, is_trusted=is_trusted, report=report, is_verbose=is_verbose, only=scenario
        )
    except (ContractsUnavailable, ConfigError, NoSuchChart) as error:
        return complain(str(error))
    except BrokenPipeError:
        return nobody_reads()
    except OSError as error:
        return complain(f"the current folder cannot be used: {error.strerror}")
    if not result.scenarios and not result.errors:
        named = "" if scenario is None else f" whose name contains {scenario!r}"
        return complain(f"there is no scenario{named}")
    if as_json:
        print(visible_json(result.to_json()), flush=True)
    return result.exit_code


def trusted_results(
    charts: Sequence[Path], bindings: str | None, *, is_trusted: bool = False, **options: Any
) -> ContractResult:
    """Run the contracts beside charts with the Python around them, as far as the user trusts it.

    Args:
        options: As `run_contracts`.

    Raises:
        ConfigError: The Python around them is not trusted, or cannot be imported.
        ContractsUnavailable: pytest or pytest-bdd is not installed.
        OSError: The current folder cannot be used.
    """
    from rawko.testing.run import Surroundings, run_contracts
    from rawko.trust.contracts import ContractTrust
    from rawko.trust.project import Project

    around = ContractTrust(Project(Path.cwd(), judge(is_granted=is_trusted)), charts, bindings)
    around.require()
    with around.imported() as modules:
        surroundings = Surroundings(around.root, modules, around.bindings_of)
        return run_contracts(charts, surroundings=surroundings, **options)
