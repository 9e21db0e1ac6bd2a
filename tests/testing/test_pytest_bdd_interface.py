"""What `rawko.testing.collect`, `features` and `bdd_steps` rely on in pytest and pytest-bdd: fails when it moves."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import pytest
import pytest_bdd
from pytest_bdd import feature, gherkin_parser, hooks, parser
from pytest_bdd.exceptions import FeatureError, GherkinParseError, TokenError
from pytest_bdd.parsers import StepParser

import rawko.chart.parse
import rawko.testing.conformance.tools
from rawko.testing import bdd_steps


def test_pytest_asks_a_module_for_its_object_and_keeps_examples_on_items() -> None:
    assert "self" in inspect.signature(pytest.Module._getobj).parameters
    assert issubclass(pytest.Module, pytest.Collector)
    assert hasattr(pytest.Function, "repr_failure")


def test_a_scenario_is_made_from_a_file_and_a_name() -> None:
    parameters = inspect.signature(pytest_bdd.scenario).parameters
    assert {"feature_name", "scenario_name", "features_base_dir", "encoding"} <= set(parameters)


def test_features_are_kept_by_absolute_path_and_can_be_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "x.feature"
    text = 'Feature: f\n  Rule: r\n    Scenario: one\n      When I wait\n        """\n        {}\n        """\n'
    path.write_text(text + "      Then t\n        | parameter | value |\n        | a | 1 |\n")
    read = feature.get_feature(str(tmp_path), "x.feature")
    assert feature.features[str(path)] is read
    when, then = read.scenarios["one"].render({}).steps
    assert (when.type, when.name, when.docstring, when.line_number) == ("when", "I wait", "{}", 4)
    assert then.datatable is not None
    assert [list(row) for row in then.datatable.raw()] == [["parameter", "value"], ["a", "1"]]
    document = gherkin_parser.get_gherkin_document(str(path))
    (child,) = document.feature.children
    assert (child.background, child.scenario) == (None, None)
    assert child.rule is not None
    assert [inner.scenario.name for inner in child.rule.children if inner.scenario] == ["one"]
    assert read.scenarios["one"].all_background_steps == []
    del feature.features[str(path)]


def test_a_broken_feature_is_a_parse_error(tmp_path: Path) -> None:
    (tmp_path / "x.feature").write_text("Scenario: no feature\n")
    assert issubclass(FeatureError, GherkinParseError)
    with pytest.raises(GherkinParseError) as found:
        feature.get_feature(str(tmp_path), "x.feature", "utf-8-sig")
    assert (found.value.line, found.value.line_content) == (1, "Scenario: no feature")
    (tmp_path / "x.feature").write_text("Feature: f\n  Scenario: s\n    When I wait\n    Wen I wait\n")
    with pytest.raises(TokenError):
        feature.get_feature(str(tmp_path), "x.feature")


def test_lines_before_the_first_step_are_a_description(tmp_path: Path) -> None:
    (tmp_path / "x.feature").write_text("Feature: f\n  Background:\n    Give a\n  Scenario: s\n    Wen b\n    Then c\n")
    background, scenario = gherkin_parser.get_gherkin_document(str(tmp_path / "x.feature")).feature.children
    assert background.background is not None
    assert scenario.scenario is not None
    assert background.background.description.strip() == "Give a"
    assert not hasattr(background.background, "examples")
    assert (scenario.scenario.description.strip(), scenario.scenario.location.line) == ("Wen b", 4)
    assert scenario.scenario.examples == []


def test_steps_are_registered_among_the_module_s_globals_as_fixtures() -> None:
    registered = [name for name in vars(bdd_steps) if name.startswith("pytestbdd_stepdef_")]
    assert len(registered) == 3
    assert inspect.isabstract(StepParser)
    assert StepParser.__abstractmethods__ == {"parse_arguments", "is_matching"}


def test_the_hooks_that_tell_where_a_scenario_is() -> None:
    assert {"request", "step"} <= set(inspect.signature(hooks.pytest_bdd_before_step).parameters)
    lookup = inspect.signature(hooks.pytest_bdd_step_func_lookup_error).parameters
    assert {"request", "step", "exception"} <= set(lookup)
    assert {"type", "name", "line_number", "keyword"} <= set(inspect.signature(parser.Step.__init__).parameters)


def test_pytest_rewrites_the_assertions_of_the_suites_for_adapters_and_of_no_other_module() -> None:
    def loader(module: ModuleType) -> str:
        return type(module.__loader__).__name__

    assert loader(rawko.testing.conformance.tools) == "AssertionRewritingHook"
    assert loader(rawko.chart.parse) == "SourceFileLoader"
