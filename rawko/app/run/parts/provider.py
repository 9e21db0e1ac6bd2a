"""The provider of a run, by its settings: the Messages API, a scenario, or a cassette; what it answers holds no key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rawko.app.secrecy.session_secrets import masker_of
from rawko.config import ConfigError, Settings, project_of
from rawko.config.checking.value_defects import ADDRESS, is_address
from rawko.config.trust_items import MAX_CASSETTE_BYTES
from rawko.providers.endpoint import ANTHROPIC_URL, Endpoint, endpoint_from_env
from rawko.providers.masked import MaskedProvider
from rawko.runtime.ports import Provider

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from rawko.providers.scenario import Scenario

NO_MODEL: Final = """no key and no endpoint: rawko does not know which model to ask. Three ways to get going:
  1. a key:       export ANTHROPIC_API_KEY=...
  2. an endpoint: export ANTHROPIC_BASE_URL=http://localhost:11434
                  (any server of the Messages API: Ollama, llama.cpp, LiteLLM ...)
  3. no model:    rawko run "Write fizzbuzz" --scenario fizzbuzz --yes
                  (the demo: only the model's replies are scripted, all else is real)"""

MAX_IDLE_MS: Final = 300_000
"""Longest silence of a server that is waited for, unless the whole call may take less."""


def open_provider(
    settings: Settings, position: Mapping[str, Any] | None = None, *, is_resumed: bool = False
) -> Provider:
    """The provider that the settings ask for; what it answers is recorded where they say so, and holds no key.

    Args:
        position: How far a scenario or cassette has been played, or recorded, already.
        is_resumed: The run was begun before.

    Raises:
        ConfigError: No key and no endpoint, a key or an address that cannot be one, an unusable scenario or cassette.
    """
    masker = masker_of(settings)
    provider = _recorded(settings, position, is_resumed=is_resumed)
    return MaskedProvider(provider, masker) if masker else provider


def _recorded(settings: Settings, position: Mapping[str, Any] | None, *, is_resumed: bool) -> Provider:
    if settings.record is None:
        return _open_provider(settings, position)
    from rawko.app.run.parts.cassettes import record

    return record(settings, partial(_open_provider, settings), position, is_resumed=is_resumed)


def _open_provider(
    settings: Settings,
    position: Mapping[str, Any] | None,
    wrap: Callable[[AsyncAnthropic], AsyncAnthropic] | None = None,
) -> Provider:
    if settings.provider == "scripted":
        return _scripted(settings, position)
    if settings.provider == "cassette":
        from rawko.app.run.parts.cassettes import play

        return play(settings, position)

    found = _endpoint(settings)
    from rawko.providers.anthropic_api import AnthropicProvider

    return AnthropicProvider(
        Endpoint(
            base_url=found.base_url,
            api_key=found.api_key,
            auth_token=found.auth_token,
            timeout_ms=settings.timeout_ms,
            idle_timeout_ms=min(MAX_IDLE_MS, settings.timeout_ms),
        ),
        wrap=wrap,
    )


def check_provider(settings: Settings) -> None:
    """Make sure that there is a model to ask, without asking it.

    Raises:
        ConfigError: No key and no endpoint, a key or an address that cannot be one, an unusable scenario.
    """
    if settings.provider == "anthropic":
        _endpoint(settings)
    elif settings.provider == "scripted":
        _scripted(settings, None)


def _endpoint(settings: Settings) -> Endpoint:
    """Where the model is asked, and with which key."""
    environ = _sign_in(settings)
    found = endpoint_from_env(environ)
    if found is None:
        raise ConfigError(NO_MODEL)
    _check_address(environ.get("ANTHROPIC_BASE_URL") or found.base_url)
    for name in _KEYS:
        _check_key(name, environ.get(name, ""))
    return found


_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def _sign_in(settings: Settings) -> dict[str, str]:
    """The environment's address and keys, under the settings' address.

    An address that only the project's file names does not get the keys, unless it is on this machine: else whoever
    writes a repository could have them sent to a server of his own.
    """
    environ = dict(settings.environ)
    if not settings.base_url or environ.get("ANTHROPIC_BASE_URL"):
        return environ
    environ["ANTHROPIC_BASE_URL"] = settings.base_url
    _check_address(settings.base_url)
    if urlsplit(settings.base_url).hostname not in _THIS_MACHINE and settings.base_url.rstrip("/") != ANTHROPIC_URL:
        for name in _KEYS:
            environ.pop(name, None)
    return environ


def _scripted(settings: Settings, position: Mapping[str, Any] | None) -> Provider:
    from rawko.providers.scenario_errors import ScenarioError
    from rawko.providers.scripted import ScriptedProvider

    assert settings.scenario is not None, "load_settings refuses the scripted provider without a scenario"
    try:
        return ScriptedProvider(
            _scenario(settings, settings.scenario), position=position, lane=settings.command_env.get("RAWKO_LANE", "")
        )
    except ScenarioError as error:
        raise ConfigError(str(error)) from error
    except ValueError as error:
        raise ConfigError(f"scenario {settings.scenario!r} is not the one of this run any more: {error}") from error


def _scenario(settings: Settings, name: str) -> Scenario:
    """The user's own scenario, or one that the project names, as it was read when the user was asked about it."""
    from rawko.providers.scenario_file import load_scenario, parse_scenario

    text = (
        project_of(settings).files.text(name, limit=MAX_CASSETTE_BYTES) if "scenario" in settings.of_project else None
    )
    return load_scenario(name) if text is None else parse_scenario(text, source=name)


def _check_address(url: str) -> None:
    if not is_address(url):
        raise ConfigError(f"the model's address is {url!r}; {ADDRESS}")


def _check_key(name: str, key: str) -> None:
    """A key travels in a header; what cannot stand in one would fail in the middle of the first call."""
    if not key.isascii() or not key.isprintable() or key != key.strip():
        raise ConfigError(f"{name} holds characters that no key has (a line break, a blank, or a letter beyond ASCII)")
