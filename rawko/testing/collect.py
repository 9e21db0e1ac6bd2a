"""Collects a contract as a pytest module: one test per scenario, which pytest-bdd runs through rawko's phrases.

Only this module, `features` and `bdd_steps` use pytest-bdd; tests/testing/test_pytest_bdd_interface.py checks the
interfaces that they rely on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartError
from rawko.chart.lint.bindings import wrong_arguments
from rawko.chart.parse import load_chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.errors import InterpreterError
from rawko.runtime.bindings_lookup import bound_names, find_bindings
from rawko.runtime.errors import BindingsNotFound
from rawko.testing.coverage.counts import Coverage
from rawko.testing.errors import ContractBroken, ContractMistake, ContractsUnavailable
from rawko.testing.features import ENCODING, read_feature
from rawko.testing.scene import Scene, StepText
from rawko.testing.steps.book import BOOK

BINDINGS = pytest.StashKey[Bindings]()
"""Bindings for every chart, passed by a caller in the same process (see `rawko.testing.run`)."""

BINDINGS_OF = pytest.StashKey[Callable[[Chart], Bindings | None]]()
"""A function that returns a chart's bindings, instead of `find_bindings`."""

STEP = pytest.StashKey[Any]()
"""The step that a scenario is executing, in its item's stash."""

IS_COVERED = pytest.StashKey[bool]()
"""Whether to count coverage; overrides the command line's options."""

_COVERAGE = pytest.StashKey[dict[str, Coverage]]()
_PYTEST_BDD = ("pytest-bdd", "pytest_bdd.plugin")
"""Plugin names under which pytest-bdd may be loaded: by its entry point, or by its module's name."""

_HOOKS = "rawko-step-hooks"
_NOT_A_NAME = re.compile(r"\W+")


def contract_file(path: Path, chart: Path, parent: pytest.Collector) -> ContractFile:
    """The pytest collector of one contract."""
    file: ContractFile = ContractFile.from_parent(parent, path=path)
    file.chart_path = chart
    return file


def coverage_of(config: pytest.Config) -> list[Coverage]:
    """The coverage of the contracts of this run, one object per chart."""
    return list(config.stash.get(_COVERAGE, {}).values())


def dumped_coverage(config: pytest.Config) -> str:
    """The coverage counted in this process as JSON, for the process that started it."""
    return json.dumps([one.dump() for one in coverage_of(config)])


def add_dumped_coverage(config: pytest.Config, text: str) -> None:
    """Add coverage that another process of this run has counted and dumped.

    Raises:
        ValueError: The chart has changed since it was counted.
        ChartError: The chart cannot be read any more.
    """
    table = config.stash.setdefault(_COVERAGE, {})
    for dumped in json.loads(text):
        file = dumped["file"]
        if file not in table:
            table[file] = Coverage(load_chart(file, trusted=config.getoption("--rawko-trust-code")))
        table[file].add_dumped(dumped)


class StepHooks:
    """Hooks of pytest-bdd that act for contracts only; registered if pytest-bdd is loaded."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_bdd_before_step(self, request: pytest.FixtureRequest, step: Any) -> None:
        request.node.stash[STEP] = step

    @pytest.hookimpl(optionalhook=True)
    def pytest_bdd_step_func_lookup_error(
        self, request: pytest.FixtureRequest, step: Any, exception: Exception
    ) -> None:
        """For a step of a contract that matches no phrase, report the nearest phrases."""
        if isinstance(request.node, ScenarioItem):
            request.node.stash[STEP] = step
            exception.add_note(str(BOOK.unknown(step.type, step.name)))


class ContractFile(pytest.Module):
    """A `.feature` file beside a chart with the same stem; its tests are its scenarios."""

    chart_path: Path

    def _getobj(self) -> ModuleType:
        try:
            return self._module()
        except (ContractMistake, ChartError, BindingsNotFound, InterpreterError) as error:
            raise self.CollectError(str(error)) from error

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        for item in super().collect():
            if isinstance(item, pytest.Function):
                item.__class__ = ScenarioItem  # no other way in pytest keeps the parametrisation
                case = f" [{item.callspec.id}]" if hasattr(item, "callspec") else ""
                item.user_properties.append(("scenario", vars(item.function)["rawko_scenario"] + case))
            yield item

    def _module(self) -> ModuleType:
        if not any(map(self.config.pluginmanager.has_plugin, _PYTEST_BDD)):
            raise ContractsUnavailable("pytest-bdd")
        if not self.config.pluginmanager.has_plugin(_HOOKS):
            self.config.pluginmanager.register(StepHooks(), _HOOKS)
        import pytest_bdd

        from rawko.testing import bdd_steps

        chart = load_chart(self.chart_path, trusted=self.config.getoption("--rawko-trust-code"))
        bindings = self._bindings(chart)
        if bindings is not None and (wrong := sorted(wrong_arguments(chart, bound_names(bindings)))):
            raise ContractMistake("\n".join(map(str, wrong)))
        feature = read_feature(self.path)
        module = ModuleType(f"contract_{_python_name(self.path.stem)}")
        module.__file__ = str(self.path)
        members = vars(module)
        members.update((name, value) for name, value in vars(bdd_steps).items() if name.startswith("pytestbdd_"))
        members["rawko_scene"] = _scene_fixture(chart, bindings, feature, self._coverage(chart))
        for number, name in enumerate(feature.scenarios, 1):
            named = pytest_bdd.scenario(
                self.path.name, name, encoding=ENCODING, features_base_dir=str(self.path.parent)
            )
            test = named(_empty_scenario())
            vars(test)["rawko_scenario"] = name
            members[scenario_test_name(number, name)] = test
        return module

    def _bindings(self, chart: Chart) -> Bindings | None:
        if (given := self.config.stash.get(BINDINGS, None)) is not None:
            return given
        if (find := self.config.stash.get(BINDINGS_OF, None)) is not None:
            return find(chart)
        return find_bindings(chart, module=self.config.getoption("--rawko-bindings"))

    def _coverage(self, chart: Chart) -> Coverage | None:
        config = self.config
        is_asked_for = config.getoption("--rawko-coverage") or config.getoption("--rawko-fail-under") is not None
        if not config.stash.get(IS_COVERED, is_asked_for):
            return None
        table = self.config.stash.setdefault(_COVERAGE, {})
        return table.setdefault(str(self.chart_path), Coverage(chart))


class ScenarioItem(pytest.Function):
    """One scenario. Its failures are shown without Python traceback, because authors of contracts write no Python."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        if isinstance(excinfo.value, (ContractBroken, ContractMistake)):
            return f"{_place(self)}\n{excinfo.value}"
        if type(excinfo.value).__name__ == "StepDefinitionNotFoundError":
            return "\n".join([_place(self), *getattr(excinfo.value, "__notes__", ())])
        return super().repr_failure(excinfo)


def _place(item: pytest.Function) -> str:
    """The scenario and the step that was executed last, for a failure's text."""
    name = dict(item.user_properties).get("scenario", item.name)
    step = item.stash.get(STEP, None)
    at = "" if step is None else f"\n{item.path}:{step.line_number}: {step.keyword} {step.name}"
    return f"Scenario: {name}{at}"


def _scene_fixture(chart: Chart, bindings: Bindings | None, feature: Any, coverage: Coverage | None) -> Any:
    # A scenario that reproduces another runs without the other's background, because each scenario runs its own once.
    scenarios = {
        name: _texts(template.render({}).steps[len(template.all_background_steps) :])
        for name, template in feature.scenarios.items()
    }

    @pytest.fixture
    def rawko_scene() -> Scene:
        return Scene(chart, bindings, BOOK, scenarios=scenarios, coverage=coverage)

    return rawko_scene


def _empty_scenario() -> Any:
    def scenario() -> None:
        """Nothing to do here: pytest-bdd executes the steps."""

    return scenario


def scenario_test_name(number: int, title: str) -> str:
    """The name of a scenario's test; `number` is the scenario's place in the contract, from 1."""
    return f"test_{number:02}_{_python_name(title)}"


def _python_name(text: str) -> str:
    return _NOT_A_NAME.sub("_", text).strip("_").lower()[:80] or "scenario"


def _texts(steps: Sequence[Any]) -> list[StepText]:
    return [(s.type, s.name, s.docstring, s.datatable.raw() if s.datatable is not None else None) for s in steps]
