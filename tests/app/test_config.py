"""Settings: defaults < .rawko/config.yaml < environment < flags; agents' folders; places; instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rawko.app.lookups.running import RunningLookups
from rawko.config import (
    BUILT_IN_AGENTS,
    MAX_INSTRUCTION_CHARS,
    TOOLS,
    ConfigError,
    Flags,
    Settings,
    load_agents,
    load_settings,
    schemas,
    state_dir,
)
from rawko.machines.agent_loop.control import MODELS
from rawko.tools.toolbox import build_toolbox
from rawko.trust.project import grant
from rawko.vocabulary.agent import AgentConfig, ToolAccess
from rawko.vocabulary.agent_path import TASK
from rawko.vocabulary.usage import Price

AGENT = "name: {name}\nwhen_to_use: x\nsystem_prompt: y\n"


def settings(folder: Path, config: str = "", environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    if config:
        (folder / ".rawko").mkdir(exist_ok=True)
        (folder / ".rawko" / "config.yaml").write_text(config, encoding="utf-8")
    return load_settings(folder, Flags(**flags), environ or {}, judge=grant)


LAYERS: list[tuple[str, dict[str, Any], str, str, Any, Any]] = [
    # field, default; config; environment; flag; and what each of the last three gives
    ("max_iterations", {"default": 50}, "max_iterations: 7", "RAWKO_MAX_ITERATIONS=8", 9, (7, 8, 9)),
    ("model", {"default": None}, "model: c", "RAWKO_MODEL=e", "f", ("c", "e", "f")),
    ("scenario", {"default": None}, "scenario: c", "RAWKO_SCENARIO=e", "f", ("c", "e", "f")),
    (
        "provider",
        {"default": "anthropic", "more": {"scenario": "s"}},
        "provider: scripted",
        "RAWKO_PROVIDER=anthropic",
        "scripted",
        ("scripted", "anthropic", "scripted"),
    ),
    ("base_url", {"default": None}, "base_url: http://c", "ANTHROPIC_BASE_URL=e", None, ("http://c", "e", "e")),
]


@pytest.mark.parametrize(("field", "given", "config", "variable", "flag", "expected"), LAYERS)
def test_each_layer_lies_over_the_one_before(
    tmp_path: Path, field: str, given: dict[str, Any], config: str, variable: str, flag: Any, expected: Any
) -> None:
    more = given.get("more", {})
    by_config, by_environ, by_flag = expected
    environ = dict([variable.split("=")])
    flags = {field: flag} if flag is not None else {}
    if not more:
        assert getattr(settings(tmp_path), field) == given["default"]
    assert getattr(settings(tmp_path, config, **more), field) == by_config
    assert getattr(settings(tmp_path, config, environ, **more), field) == by_environ
    assert getattr(settings(tmp_path, config, environ, **{**more, **flags}), field) == by_flag
    (tmp_path / ".rawko" / "config.yaml").unlink()
    assert getattr(settings(tmp_path, "", environ, **more), field) == by_environ
    assert getattr(settings(tmp_path, "", {variable.split("=")[0]: ""}), field) == given["default"], "empty is unset"


def test_defaults_and_the_rest_of_the_file(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert (found.max_consecutive_failures, found.max_tokens, found.timeout_ms) == (3, 8192, 600_000)
    assert (found.rules, found.prices, found.prompts_dir, found.assume_yes) == ((), {}, None, False)
    (tmp_path / "texts").mkdir()
    found = settings(
        tmp_path,
        "max_consecutive_failures: 5\nmax_tokens: 100\ntimeout_ms: 2000\nrules: [deny bash]\nprompts: texts\n"
        "prices: {m: {input: 3, output: 15, cache_read: 0.3}}\nbash: {default_timeout_ms: 1000, extra_env: [CI]}\n",
        assume_yes=True,
    )
    assert (found.max_consecutive_failures, found.max_tokens, found.timeout_ms) == (5, 100, 2_000)
    assert (found.rules, found.assume_yes, found.prompts_dir) == (("deny bash",), True, tmp_path / "texts")
    assert found.prices == {"m": Price(input=3, output=15, cache_read=0.3)}
    assert (found.bash.default_timeout_ms, found.bash.max_timeout_ms, found.bash.extra_env) == (1_000, 600_000, ("CI",))


@pytest.mark.parametrize(
    ("environ", "flags"), [({}, {"scenario": "s"}), ({"RAWKO_SCENARIO": "s"}, {})], ids=["flag", "environment"]
)
def test_a_scenario_asks_for_the_scripted_provider(
    tmp_path: Path, environ: dict[str, str], flags: dict[str, str]
) -> None:
    assert settings(tmp_path, "provider: anthropic", environ, **flags).provider == "scripted"
    assert settings(tmp_path, "", {**environ, "RAWKO_PROVIDER": "anthropic"}, **flags).provider == "anthropic"


# ---------------------------------------------------------------- agents


def test_built_in_agents_serve_where_there_are_none(tmp_path: Path) -> None:
    agents = settings(tmp_path).agents
    assert list(agents) == ["developer", "planner", "reviewer", "tester"]
    assert agents == load_agents(BUILT_IN_AGENTS)
    assert not agents["planner"].tools.permits("write")
    assert not agents["reviewer"].tools.permits("edit")
    assert agents["developer"].tools.permits("bash")


def folder_of(parent: Path, *names: str) -> Path:
    parent.mkdir(parents=True)
    for name in names:
        (parent / f"{name}.yaml").write_text(AGENT.format(name=name), encoding="utf-8")
    return parent


def test_where_agents_come_from(tmp_path: Path) -> None:
    project = folder_of(tmp_path / ".rawko" / "agents", "mine")
    named, flagged = folder_of(tmp_path / "named", "named"), folder_of(tmp_path / "flagged", "flagged")
    (project / ".mine.yaml.swp").write_text("x")
    (project / ".hidden.yaml").write_text("x")
    (project / "notes.txt").write_text("x")
    environ = {"RAWKO_AGENTS": str(named)}
    assert list(settings(tmp_path).agents) == ["mine"], "the project's own take the place of the built-in ones"
    assert list(settings(tmp_path, "", environ).agents) == ["named"]
    assert list(settings(tmp_path, "", environ, agents=flagged).agents) == ["flagged"]


def test_the_names_of_tools_are_those_that_there_are(tmp_path: Path) -> None:
    lookups = RunningLookups(tuple)
    toolbox = build_toolbox(tmp_path, state_dir=tmp_path / "state", agents={"a": ToolAccess()}, lookups=lookups)
    assert {spec.name for spec in toolbox.specs("a")} | {TASK} | set(MODELS) == set(TOOLS)


def test_every_tool_is_on_the_page_about_agents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    assert {name for name in TOOLS if f"`{name}`" not in page and f"{name}," not in page} == set()


# ---------------------------------------------------------------- places and instructions


def test_the_state_of_a_workspace_has_a_place_of_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "project", tmp_path / "b" / "project"
    places = [state_dir(folder, {"RAWKO_STATE_DIR": str(tmp_path / "s")}) for folder in (one, two)]
    assert {place.parent for place in places} == {tmp_path / "s"}
    assert places[0] != places[1]
    assert all(place.name.startswith("project-") for place in places)
    assert state_dir(one, {}) != places[0]
    assert state_dir(one, {}).is_absolute()
    assert not state_dir(one, {}).is_relative_to(one)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ""),
        ({"CLAUDE.md": "c"}, "c"),
        ({"AGENTS.md": "a"}, "a"),
        ({"AGENTS.md": "a", "CLAUDE.md": "c"}, "a"),
        ({"AGENTS.md": ""}, ""),
    ],
)
def test_project_instructions(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert settings(tmp_path).project_instructions == expected


def test_instructions_that_every_call_would_carry_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x" * (MAX_INSTRUCTION_CHARS + 1), encoding="utf-8")
    with pytest.raises(ConfigError, match="100001 characters; accepted: at most 100000"):
        settings(tmp_path)


def test_a_workspace_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        settings(tmp_path / "nowhere")


def test_the_schema_of_agents_names_every_field() -> None:
    assert set(schemas()["agent"]["properties"]) == set(AgentConfig.model_fields)
