"""Command line, environment, project's file, user's own file: what counts of them, and what each may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.trust.project import grant, refuse
from rawko.vocabulary.budget import Budget


class Person:
    """A project and its user: what their files say, and the settings that come of it."""

    def __init__(self, base: Path) -> None:
        self.project, self.home = base / "project", base / "home"
        (self.project / ".rawko").mkdir(parents=True)
        self.home.mkdir()

    @property
    def own(self) -> Path:
        return self.home / "config.yaml"

    def writes(self, *, own: str | None = None, project: str | None = None) -> None:
        if own is not None:
            self.own.write_text(own)
        if project is not None:
            (self.project / ".rawko" / "config.yaml").write_text(project)

    def settings(self, environ: dict[str, str] | None = None, *, is_trusted: bool = True, **flags: Any) -> Settings:
        given = {"RAWKO_CONFIG": str(self.own), **(environ or {})}
        judge = grant if is_trusted else refuse
        return load_settings(self.project, Flags(**flags), given, judge=judge, has_powers=is_trusted)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


MEETINGS = [
    # the user's file; the project's; field; what counts
    ("model: mine", "", "model", "mine"),
    ("model: mine", "model: theirs", "model", "theirs"),
    ("max_iterations: 20", "max_iterations: 70", "max_iterations", 20),
    ("max_iterations: 20", "max_iterations: 7", "max_iterations", 7),
    ("", "max_iterations: 70", "max_iterations", 70),
    ("rules: [deny bash(rm *)]", "rules: [allow bash]", "rules", ("deny bash(rm *)", "allow bash")),
    ("sandbox: true", "sandbox: false", "sandbox", True),
    ("sandbox: false", "sandbox: true", "sandbox", True),
    ("headless: fail", "headless: park", "headless", "park"),
    ("context_window: 5000", "context_window: 9000", "context_window", 9000),
    ("budget: {tokens: 5, time: 2m}", "budget: {tokens: 9, time: 90s}", "budget", Budget(tokens=5, time="90s")),
    ("budget: {tokens: 5}", "budget: {cost_usd: 2}", "budget", Budget(tokens=5, cost_usd=2)),
]


@pytest.mark.parametrize(("own", "project", "field", "expected"), MEETINGS)
def test_a_project_over_the_user_sets_what_it_may(
    person: Person, own: str, project: str, field: str, expected: Any
) -> None:
    person.writes(own=own, project=project)
    assert getattr(person.settings(), field) == expected


def test_what_is_typed_counts_more_than_any_file(person: Person) -> None:
    person.writes(own="max_iterations: 5\nsandbox: true\nrules: [ask read]", project="max_iterations: 3\nsandbox: true")
    found = person.settings({"RAWKO_MAX_ITERATIONS": "60"}, sandbox=False)
    assert (found.max_iterations, found.sandbox, found.rules) == (60, False, ("ask read",))
    assert person.settings({"RAWKO_MAX_ITERATIONS": "60"}, max_iterations=90).max_iterations == 90


def test_parts_of_a_block_come_from_several_places(person: Person) -> None:
    own = "bash: {extra_env: [CI]}\ndefault_answers: {clarify: go}"
    person.writes(own=own, project="bash: {max_timeout_ms: 5000}\ndefault_answers: {pause: wait}")
    found = person.settings(budget=Budget(cost_usd=2))
    assert (found.bash.extra_env, found.bash.max_timeout_ms, found.bash.default_timeout_ms) == (("CI",), 5000, 120_000)
    assert (found.default_answers.clarify, found.default_answers.pause) == ("go", "wait")
    assert found.budget == Budget(cost_usd=2)


def test_the_users_own_file_needs_no_trust(person: Person) -> None:
    server = "mcp: {notes: {command: [notes-server]}}"
    person.writes(own=f"rules: [allow bash]\n{server}\nprompts: texts\nbase_url: http://127.0.0.1:1\n")
    (person.home / "texts").mkdir()
    found = person.settings(is_trusted=False)
    assert (found.rules, list(found.mcp), found.base_url) == (("allow bash",), ["notes"], "http://127.0.0.1:1")
    assert found.prompts_dir == person.home / "texts"
    assert load_settings(person.project, Flags(), {"RAWKO_CONFIG": str(person.own)}, judge=refuse).mcp == found.mcp


@pytest.mark.parametrize(("named", "place"), [("fizzbuzz", "fizzbuzz"), ("s.yaml", "home/s.yaml"), ("a/s", "home/a/s")])
def test_files_that_the_user_names_lie_beside_their_file(
    person: Person, tmp_path: Path, named: str, place: str
) -> None:
    person.writes(own=f"scenario: {named}\ncassette: c.yaml\nprovider: scripted\n")
    found = person.settings(is_trusted=False)
    assert (found.provider, found.scenario) == ("scripted", str(tmp_path / place) if "/" in place else place)
    assert found.of_project == frozenset()


def test_a_project_that_is_not_trusted_adds_nothing_to_it(person: Person) -> None:
    person.writes(own="rules: [deny bash]", project="rules: [allow write]\nbase_url: http://evil.example")
    found = person.settings(is_trusted=False)
    assert (found.rules, found.base_url) == (("deny bash",), None)


def test_a_users_file_that_tools_could_write_may_only_tighten(person: Person) -> None:
    inside = person.project / "config.yaml"
    inside.write_text("rules: [allow bash, deny write]\nmax_iterations: 4\n")
    found = load_settings(person.project, Flags(), {"RAWKO_CONFIG": str(inside)}, judge=refuse)
    assert (found.rules, found.max_iterations) == (("deny write",), 4)


def test_a_users_file_that_others_could_write_is_refused(person: Person) -> None:
    person.writes(own="rules: [allow bash]")
    person.own.chmod(0o666)
    with pytest.raises(ConfigError, match="others can write it"):
        person.settings()


def test_a_users_file_that_is_named_and_not_there_is_told(person: Person) -> None:
    with pytest.raises(ConfigError, match="RAWKO_CONFIG: there is no file"):
        person.settings()


def test_the_users_file_lies_in_their_configuration_folder(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "xdg"))  # where a Mac looks
    from platformdirs import user_config_path

    place = user_config_path("rawko")
    place.mkdir(parents=True)
    (place / "config.yaml").write_text("model: mine\n")
    assert load_settings(person.project, Flags(), {}).model == "mine"


PROJECTS = """\
max_iterations: 0
headles: fail
bash:
  extra_env: ['*']
provider: antropic
rules: [deny bsh, deny bash for testr]
"""


def test_everything_that_is_wrong_is_told_at_once(person: Person) -> None:
    person.writes(own="modle: x\nrules: [alow *]\n", project=PROJECTS)
    (person.project / "AGENTS.md").write_text("x" * 100_001)
    with pytest.raises(ConfigError) as told:
        person.settings({"RAWKO_HEADLESS": "prak", "RAWKO_SANDBOX": "maybe"}, budget=Budget.model_construct(cost_usd=0))
    config, own = person.project / ".rawko" / "config.yaml", person.own
    lines = str(told.value).splitlines()
    begins = [
        f"{config}:1:17: 'max_iterations': found 0; ",
        f"{config}:2:1: unknown key 'headles'; did you mean 'headless'? ",
        f"{config}:4:",
        f"{config}:5:11: 'provider': 'antropic' is not accepted; did you mean 'anthropic'? ",
        f"{config}:6:9: rules: rule 1 'deny bsh': unknown tool 'bsh'; did you mean 'bash'? ",
        f"{config}:6:19: rules: rule 2 'deny bash for testr': there is no agent 'testr'; did you mean 'tester'? ",
        f"{own}:1:1: unknown key 'modle'; did you mean 'model'? ",
        f"{own}:2:9: rules: rule 1 'alow *': unknown decision 'alow'; did you mean 'allow'?",
        "--max-cost: found 0; accepted: US dollars above 0",
        "RAWKO_SANDBOX: 'maybe'; ",
        "RAWKO_HEADLESS: 'prak'; did you mean 'park'? ",
        f"{person.project / 'AGENTS.md'}: 100001 characters; ",
    ]
    assert len(lines) == len(begins), told.value
    assert [line for line, begin in zip(lines, begins, strict=True) if not line.startswith(begin)] == []


def test_defects_of_agents_are_told_with_the_rest(person: Person) -> None:
    person.writes(own="", project="modl: x\nrules: [3, deny bash for nobody]\n")
    (person.project / ".rawko" / "agents").mkdir()
    (person.project / ".rawko" / "agents" / "a.yaml").write_text("name: A\nwhen_to_use: x\n")
    with pytest.raises(ConfigError) as told:
        person.settings()
    begins = [
        "config.yaml:1:1: unknown key 'modl'",
        "config.yaml:2:9: 'rules': found 3",
        "a.yaml:1:1: key",
        "a.yaml:1:7",
    ]
    lines = str(told.value).splitlines()
    assert len(lines) == len(begins), told.value
    assert [begin for line, begin in zip(lines, begins, strict=True) if begin not in line] == []


def test_what_does_not_fit_together_is_told_at_once(person: Person) -> None:
    person.writes(own="", project="headless: default\nprompts: nowhere\nprovider: scripted\n")
    with pytest.raises(ConfigError) as told:
        person.settings()
    assert [word in str(told.value) for word in ("needs a scenario", "which is no folder", "needs answers")] == [
        True
    ] * 3


def test_a_variable_that_a_flag_overrides_is_not_looked_at(person: Person) -> None:
    person.writes(own="")
    assert person.settings({"RAWKO_MAX_ITERATIONS": "many"}, max_iterations=3).max_iterations == 3
