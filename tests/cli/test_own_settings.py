"""A person's own file of settings, as it is used: rules, templates and limits without a question, in every project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from rawko.cli.authoring.init import CONFIG_TEXT
from rawko.config import file_model
from rawko.vocabulary.documents import parse_document
from tests.cli.shell import Ended, Shell, call, says

Typed = Callable[..., Ended]
WRITE = call("write", file_path="hello.txt", content="hello\n")
COMPLETE = call("complete", summary="Wrote hello.txt.")


def own_file(rawko: Shell, text: str) -> dict[str, str]:
    """The file in the user's own folder, and the environment that leads there."""
    folder = rawko.home / "settings"
    folder.mkdir()
    (folder / "config.yaml").write_text(text)
    return {"RAWKO_CONFIG": str(folder / "config.yaml")}


def run_of(rawko: Shell) -> dict[str, object]:
    [path] = rawko.state.glob("*/runs/*/run.json")
    settings = json.loads(path.read_text())["settings"]
    assert isinstance(settings, dict)
    return settings


def test_own_rules_and_templates_count_without_a_question(typed: Typed, rawko: Shell) -> None:
    env = own_file(rawko, "rules: [allow write(hello.txt)]\nprompts: texts\nmax_iterations: 7\n")
    (rawko.home / "settings" / "texts" / "agent_loop").mkdir(parents=True)
    scenario = rawko.scenario(says("developer", WRITE), says("developer", COMPLETE))
    words = ("--agent", "developer", "--scenario", str(scenario), "--headless", "fail")
    done = typed("run", "Write hello", *words, "--json", env=env)
    assert (done.code, done.report["outcome"]) == (0, "success"), done.text
    assert rawko.read("hello.txt") == "hello\n"
    recorded = run_of(rawko)
    assert (recorded["rules"], recorded["max_iterations"]) == (["allow write(hello.txt)"], 7)
    again = typed("run", "--again", done.report["run"], "--headless", "fail", "--json", env=env)
    assert (again.code, again.report["outcome"]) == (0, "success"), again.text


def test_a_project_cannot_undo_an_own_rule(typed: Typed, rawko: Shell) -> None:
    env = own_file(rawko, "rules: [deny write]\n")
    rawko.write(".rawko/config.yaml", "rules: [allow write]\n")
    scenario = rawko.scenario(says("developer", WRITE), says("developer", COMPLETE))
    words = ("--agent", "developer", "--scenario", str(scenario), "--yes", "--trust")
    done = typed("run", "Write hello", *words, env=env)
    assert "no files changed" in done.text
    assert not (rawko.folder / "hello.txt").exists()


def test_several_defects_are_told_at_once(typed: Typed, rawko: Shell) -> None:
    env = own_file(rawko, "modle: x\n")
    path = rawko.write(".rawko/config.yaml", "max_iterations: 0\nrules: [deny bsh]\n")
    done = typed("run", "a", "--max-cost", "0", "--headless", "prak", env={**env, "RAWKO_SANDBOX": "maybe"})
    assert done.code == 2
    assert len(done.err.splitlines()) == 6, done.err
    for told in (
        f"{path}:1:17: 'max_iterations': found 0",
        f"{path}:2:9: rules: rule 1 'deny bsh': unknown tool 'bsh'; did you mean 'bash'?",
        f"{env['RAWKO_CONFIG']}:1:1: unknown key 'modle'; did you mean 'model'?",
        "--max-cost: found 0; accepted: US dollars above 0, such as 0.50",
        "--headless: 'prak'; did you mean 'park'? accepted: 'fail', 'park', 'default'",
        "RAWKO_SANDBOX: 'maybe'; accepted: '1', 'true', '0', 'false'",
    ):
        assert told in done.err


def test_what_init_writes_is_what_the_table_says() -> None:
    """Its settings are the defaults, and what it shows in comments is accepted."""
    assert parse_document(CONFIG_TEXT, file_model(), source="config.yaml") == file_model()()
    shown = re.findall(r"^# ( *[a-z][a-z0-9_-]*:.*)$", CONFIG_TEXT, re.MULTILINE)
    found = parse_document("\n".join(shown), file_model(), source="config.yaml")
    assert {"provider", "prices", "budget", "default_answers"} <= found.model_fields_set
