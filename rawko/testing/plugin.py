"""The pytest plugin: collects each `.feature` contract that lies beside a chart with the same stem.

It is cheap without contracts: pytest-bdd and the modules that run contracts are imported with the first contract.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rawko.testing.collect import ContractFile

SUFFIXES = (".yaml", ".yml")
_LOOKED_AT = 64 * 1024


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rawko", "rawko: contracts of statecharts")
    group.addoption(
        "--rawko-bindings",
        metavar="MODULE",
        default=None,
        help="module with the bindings of the charts, over [tool.rawko.bindings] in pyproject.toml",
    )
    group.addoption(
        "--rawko-trust-code",
        action="store_true",
        default=False,
        help="run the Python code of plain sismic charts",
    )
    group.addoption(
        "--rawko-coverage",
        action="store_true",
        default=False,
        help="show how much of each chart its contract has covered",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ContractFile | None:
    """Collect a feature as a contract if a chart with its stem lies beside it; other features are ignored."""
    if file_path.suffix != ".feature" or (chart := chart_beside(file_path)) is None:
        return None
    from rawko.testing.collect import contract_file

    return contract_file(file_path, chart, parent)


def chart_beside(feature: Path) -> Path | None:
    """The chart of a contract: a YAML file with the feature's stem and the key `statechart`."""
    for suffix in SUFFIXES:
        path = feature.with_suffix(suffix)
        if path.is_file() and _is_chart(path):
            return path
    return None


def _is_chart(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    return any(line.split(b":")[0].strip(b"\"' ") == b"statechart" for line in head.splitlines())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--rawko-coverage"):
        return
    from rawko.testing.collect import coverage_of
    from rawko.testing.coverage import coverage_table

    found = coverage_of(config)
    if found:
        terminalreporter.section("coverage of contracts")
        terminalreporter.write_line(coverage_table(found))
