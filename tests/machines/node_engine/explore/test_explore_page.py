"""docs/explore.md says what the code does: every key, default, node and field."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from rawko.app.exploration.listing import Listed
from rawko.app.exploration.record import ExplorationPlan
from rawko.app.exploration.report import ExplorationReport
from rawko.machines.node_engine.context import Budgets
from rawko.machines.node_engine.explore import explore_nodes, parse_policy
from rawko.machines.node_engine.explore.advisor import PURPOSE
from rawko.machines.node_engine.explore.decision import ACTIONS, parse_decision
from rawko.machines.node_engine.explore.keynames import require_key
from rawko.machines.node_engine.explore.policy import ExplorePolicy, LaunchPolicy, Rule, When, policy_schema

TEXT = (Path(__file__).parents[4] / "docs" / "explore.md").read_text("utf-8")
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
NAMED = set(re.findall(r"`([^`]+)`", PROSE))
WORDS = set(re.findall(r"[\w.-]+", " ".join(NAMED)))


def snippet(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_policy_and_the_decision_can_be_used() -> None:
    assert [rule.name for rule in parse_policy(snippet("yaml")).rules] == ["leave", "left", "calculate"]
    assert parse_decision(snippet("json")).in_one_line == "type '6 * 7', press enter"
    assert set(json.loads(snippet("json"))) >= {"action", "text", "keys"}


def test_the_schema_takes_what_the_policy_takes() -> None:
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    jsonschema.validate(yaml.safe_load(snippet("yaml")), policy_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"rulez": []}, policy_schema())


def test_every_key_is_named() -> None:
    launch = {f"launch.{name}" for name in LaunchPolicy.model_fields}
    assert launch | set(ExplorePolicy.model_fields) - {"launch"} <= WORDS
    assert set(When.model_fields) | set(Rule.model_fields) <= WORDS
    assert set(ACTIONS) <= WORDS
    assert {node.name for node in explore_nodes} <= WORDS
    assert PURPOSE in NAMED


def test_the_defaults_are_the_codes() -> None:
    policy, launch = ExplorePolicy(), LaunchPolicy()
    for row in (
        f"| `quiet_ms`, `cap_ms` | {policy.quiet_ms}, {policy.cap_ms} |",
        f'| `launch.expect`, `launch.within_ms` | "", {launch.within_ms} |',
        f"| `launch.silent_ms` | {launch.silent_ms} |",
        f"| `launch.retries`, `launch.backoff_ms` | {launch.retries}, {launch.backoff_ms} |",
        f"| `stuck_after` | {policy.stuck_after} |",
        f"| `max_backtracks` | {policy.max_backtracks} |",
        f"three per decision; {Budgets().attempts} by default",
    ):
        assert row in TEXT


def test_every_field_of_the_report_is_named() -> None:
    (listed,) = re.findall(r"`(\{\"run\".*?\})`", TEXT, re.DOTALL)
    fields = set(ExplorationReport.__dataclass_fields__) - {"is_bad_input"}
    assert set(re.findall(r'"(\w+)"', listed)) == fields


def test_every_field_of_the_list_is_named() -> None:
    (text,) = re.findall(r"`(\{\"kind\".*?\})`", TEXT, re.DOTALL)
    one = Listed("r", Path(), ExplorationPlan(command=("cat",), cwd="/"), None, None, None)
    assert set(re.findall(r'"(\w+)"', text)) == {*one.to_json(), "exploration"}


def test_the_keys_are_keys() -> None:
    (sentence,) = re.findall(r"^Keys are (.*?)$", TEXT.replace("\n", " ").replace("  ", " \n"), re.MULTILINE)
    named = re.findall(r"`([^`]+)`", sentence.split(" arrows with")[0])
    assert len(named) == 20
    assert all(require_key(name) for name in named)
