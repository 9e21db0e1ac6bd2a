"""The pytest plugin: collects each `.feature` contract that lies beside a chart with the same stem.

Without contracts it costs little: pytest-bdd and the modules that run contracts are imported with the first contract.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rawko.testing.collect import ContractFile

SUFFIXES = (".yaml", ".yml")
_HEAD_BYTES = 64 * 1024
_WORKER_KEY = "rawko_coverage"
"""Key under which a worker process of pytest-xdist sends its coverage to the main process."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _limit_assertion_rewriting(pluginmanager)
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
    group.addoption(
        "--rawko-fail-under",
        type=float,
        metavar="PERCENT",
        default=None,
        help="fail where a contract covers less of its chart",
    )


def _limit_assertion_rewriting(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let pytest rewrite the assertions of `rawko.testing` only, because no other module of rawko asserts for a test.

    By default it rewrites all modules of the package that contains the plugin: 1,100 modules, which takes three
    seconds in the first run and one in each later run. pytest has no public option for this; if the private attribute
    is missing, nothing is changed.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set) and "rawko" in marked:
        marked.remove("rawko")
        marked.add("rawko.testing")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the session if all tests passed but the coverage is too low. A worker process of pytest-xdist sends its
    coverage to the main process instead, because only that process has the coverage of all workers."""
    sent: dict[str, str] | None = getattr(session.config, "workeroutput", None)
    if sent is not None:
        if _is_covered(session.config):
            from rawko.testing.collect import dumped_coverage

            sent[_WORKER_KEY] = dumped_coverage(session.config)
    elif exitstatus == pytest.ExitCode.OK and _coverage_failures(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker process of pytest-xdist has ended: add its coverage."""
    sent = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
    if sent is not None:
        from rawko.testing.collect import add_dumped_coverage

        add_dumped_coverage(node.config, sent)


def _is_covered(config: pytest.Config) -> bool:
    return bool(config.getoption("--rawko-coverage")) or config.getoption("--rawko-fail-under") is not None


def _coverage_failures(config: pytest.Config) -> list[str]:
    percent: float | None = config.getoption("--rawko-fail-under")
    if percent is None:
        return []
    from rawko.testing.collect import coverage_of

    return [
        f"{one.chart.name}: {one.percent:.1f} % are covered, and --rawko-fail-under asks for {percent:g}"
        for one in coverage_of(config)
        if one.percent < percent
    ]


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
        head = file.read(_HEAD_BYTES)
    return any(line.split(b":")[0].strip(b"\"' ") == b"statechart" for line in head.splitlines())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in _coverage_failures(config):
        terminalreporter.write_line(line, red=True)
    if not config.getoption("--rawko-coverage"):
        return
    from rawko.testing.collect import coverage_of
    from rawko.testing.coverage.table import coverage_table

    found = coverage_of(config)
    if found:
        terminalreporter.section("coverage of contracts")
        terminalreporter.write_line(coverage_table(found))
