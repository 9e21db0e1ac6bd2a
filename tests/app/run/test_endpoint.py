"""Which keys go where: never to an address that only a repository names."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from rawko.app.run.models.endpoints import NAMES, chat_endpoint_of, endpoint_of, sign_in, unknown_models
from rawko.app.run.models.provider import check_provider
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.config.row import rows
from rawko.config.settings import WIRES
from rawko.processes.keys import OWN, is_secret
from rawko.trust.project import grant
from rawko.vocabulary.errors import Wire
from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Shell

__all__ = ["rawko", "typed"]

KEYS = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_AUTH_TOKEN": "token"}
CHAT_KEYS = {"OPENAI_API_KEY": "key", "OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": "project"}
APIS = [
    pytest.param("anthropic", "base_url", "ANTHROPIC_BASE_URL", KEYS, id="anthropic"),
    pytest.param("openai", "openai_base_url", "OPENAI_BASE_URL", CHAT_KEYS, id="openai"),
]


def test_every_provider_over_the_network_has_its_names_and_its_keys_are_kept_from_commands() -> None:
    assert set(NAMES) == set(WIRES) == set(get_args(Wire)) == {api.id for api in APIS}
    variables = {row.name: row.setting.env for row in rows(Settings)}
    for names in NAMES.values():
        assert variables[names.setting] == names.address
        assert {name for name in names.keys if is_secret(name)} <= set(OWN)


def settings_of(folder: Path, text: str, environ: dict[str, str], **flags: str) -> Settings:
    (folder / ".rawko").mkdir()
    (folder / ".rawko" / "config.yaml").write_text(text, encoding="utf-8")
    return load_settings(folder, Flags(flags), environ, judge=grant)


@pytest.mark.parametrize(("wire", "key", "variable", "keys"), APIS)
@pytest.mark.parametrize(
    ("in_file", "in_environment", "address", "has_keys"),
    [
        (None, None, None, True),
        (None, "https://proxy.example", "https://proxy.example", True),
        ("https://evil.example", None, "https://evil.example", False),
        ("https://localhost.evil.example", None, "https://localhost.evil.example", False),
        ("https://api.anthropic.com@evil.example", None, "https://api.anthropic.com@evil.example", False),
        ("https://api.openai.com/v1@evil.example", None, "https://api.openai.com/v1@evil.example", False),
        ("https://evil.example", "https://proxy.example", "https://proxy.example", True),
        ("http://localhost:11434", None, "http://localhost:11434", True),
        ("http://127.0.0.1:8080", None, "http://127.0.0.1:8080", True),
    ],
)
def test_keys_are_sent_only_where_the_environment_says(
    tmp_path: Path,
    wire: Wire,
    key: str,
    variable: str,
    keys: dict[str, str],
    in_file: str | None,
    in_environment: str | None,
    address: str | None,
    has_keys: bool,
) -> None:
    environ = {**keys, **({variable: in_environment} if in_environment else {})}
    found = sign_in(settings_of(tmp_path, f"{key}: {in_file}\n" if in_file else "", environ), wire)
    assert found.get(variable) == address
    assert (keys.items() <= found.items()) is has_keys
    assert has_keys or not (keys.keys() & found.keys())


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("anthropic", "base_url: https://api.anthropic.com"),
        ("openai", "openai_base_url: https://api.openai.com/v1"),
        ("openai", "openai_base_url: https://api.openai.com"),
    ],
)
def test_the_models_own_server_has_the_keys(tmp_path: Path, wire: Wire, text: str) -> None:
    settings = settings_of(tmp_path, text, {**KEYS, **CHAT_KEYS})
    found = endpoint_of(settings) if wire == "anthropic" else chat_endpoint_of(settings)
    assert found.api_key == "key"


def test_the_key_of_one_api_is_not_sent_to_the_other(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "", {**KEYS, "OPENAI_BASE_URL": "http://model.example", "OPENAI_ORG_ID": "org"})
    found = chat_endpoint_of(settings)
    assert (found.api_key, found.organization, found.base_url) == (None, "org", "http://model.example/v1")


@pytest.mark.parametrize(
    ("text", "environ", "flags", "told"),
    [
        ("", {}, {"model": "m"}, "no key and no endpoint for the provider 'openai'"),
        ("", {"OPENAI_BASE_URL": "http://a.example"}, {}, "has no default model; name one with --model"),
        (
            "base_url: http://a.example",
            {"OPENAI_API_KEY": "k"},
            {"model": "m"},
            "'http://a.example') is the address of",
        ),
        ("", {"OPENAI_BASE_URL": "localhost:80"}, {"model": "m"}, "the model's address is 'localhost:80'"),
        ("", {"OPENAI_API_KEY": "a\nb"}, {"model": "m"}, "OPENAI_API_KEY holds characters that no key has"),
    ],
)
def test_what_the_openai_provider_needs(
    tmp_path: Path, text: str, environ: dict[str, str], flags: dict[str, str], told: str
) -> None:
    settings = settings_of(tmp_path, text, environ, provider="openai", **flags)
    with pytest.raises(ConfigError) as caught:
        check_provider(settings)
    assert told in str(caught.value)


AT_ANTHROPIC = "https://api.anthropic.com has no model {!r}: its models' names begin with 'claude-'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model: claude-sonnet-9\n", ()),
        ("model: clade-sonnet-5\n", (f"{AT_ANTHROPIC.format('clade-sonnet-5')}; did you mean 'claude-sonnet-5'?",)),
        ("model: qwen3\n", (AT_ANTHROPIC.format("qwen3"),)),
        ("model: qwen3\nbase_url: https://api.anthropic.com\n", (AT_ANTHROPIC.format("qwen3"),)),
        ("model: qwen3\nbase_url: http://localhost:11434\n", ()),
        ("model: qwen3\nprovider: openai\n", ()),
    ],
)
def test_a_model_that_the_own_server_cannot_have_is_told_before_it_is_asked(
    tmp_path: Path, text: str, told: tuple[str, ...]
) -> None:
    assert unknown_models(settings_of(tmp_path, text, {})) == told


def test_models_of_agents_are_told_too(tmp_path: Path) -> None:
    agents = tmp_path / ".rawko" / "agents"
    agents.mkdir(parents=True)
    (agents / "writer.yaml").write_text("name: writer\nwhen_to_use: x\nsystem_prompt: y\nmodel: opus\n", "utf-8")
    assert unknown_models(load_settings(tmp_path, Flags({}), {})) == (AT_ANTHROPIC.format("opus"),)


def test_a_run_warns_and_asks_all_the_same(rawko: Shell, typed: Typed) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "HTTPS_PROXY": "http://127.0.0.1:9"}
    words = ("run", "Go", "--agent", "developer", "--model", "clade-sonnet-5", "--max-time", "1s", "--quiet")
    ended = typed(*words, env=environ)
    warned, *_ = ended.err.splitlines()
    assert warned.startswith("rawko: warning: https://api.anthropic.com has no model 'clade-sonnet-5'")
    assert "the connection to https://api.anthropic.com failed" in ended.text
