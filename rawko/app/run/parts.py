"""The parts of a run, opened from its settings: model, tools, workspace, agents' machines. Each says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rawko.app.lookups.running import RunningLookups
from rawko.app.secrecy.session_secrets import masker_of
from rawko.chart import Chart, ChartError, find_chart, load_chart, shipped_charts
from rawko.chart.check import check_chart
from rawko.chart.lint import has_errors
from rawko.config import ConfigError, Settings, project_of
from rawko.config.trust_items import MAX_CASSETTE_BYTES, settings_items
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.errors import ContextError
from rawko.interpreter.running.interpreter import Interpreter
from rawko.machines import agent_loop
from rawko.processes.private import make_private
from rawko.providers.endpoint import ANTHROPIC_URL, Endpoint, endpoint_from_env
from rawko.providers.masked import MaskedProvider
from rawko.runtime.errors import BindingsNotFound
from rawko.runtime.ports import Provider, Toolbox, WorkspaceError
from rawko.tools.lookups.port import RunLookups
from rawko.trust.bindings import project_bindings
from rawko.trust.charts import chart_items, project_chart
from rawko.trust.templates import ProjectTemplates
from rawko.vocabulary.agent import AgentConfig
from rawko.vocabulary.documents import Document, accepted

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from rawko.providers.scenario import Scenario
    from rawko.tools.base import Tool
    from rawko.workspace import SnapshotWorkspace

Machine = tuple[Chart, Bindings]

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
    from rawko.app.run.cassettes import record

    return record(settings, partial(_open_provider, settings), position, is_resumed=is_resumed)


def _open_provider(
    settings: Settings,
    position: Mapping[str, Any] | None,
    wrap: Callable[[AsyncAnthropic], AsyncAnthropic] | None = None,
) -> Provider:
    if settings.provider == "scripted":
        return _scripted(settings, position)
    if settings.provider == "cassette":
        from rawko.app.run.cassettes import play

        return play(settings, position)

    environ = _sign_in(settings)
    found = endpoint_from_env(environ)
    if found is None:
        raise ConfigError(NO_MODEL)
    _check_address(environ.get("ANTHROPIC_BASE_URL") or found.base_url)
    for name in _KEYS:
        _check_key(name, environ.get(name, ""))
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
        return ScriptedProvider(_scenario(settings, settings.scenario), position=position)
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
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_good = False
    if not is_good:
        raise ConfigError(f"the model's address is {url!r}; accepted: a URL like http://localhost:11434")


def _check_key(name: str, key: str) -> None:
    """A key travels in a header; what cannot stand in one would fail in the middle of the first call."""
    if not key.isascii() or not key.isprintable() or key != key.strip():
        raise ConfigError(f"{name} holds characters that no key has (a line break, a blank, or a letter beyond ASCII)")


async def open_workspace(settings: Settings, run: str) -> SnapshotWorkspace:
    """The workspace and its snapshots, kept in the state folder.

    Raises:
        ConfigError: It cannot be recorded.
    """
    from rawko.workspace import SnapshotWorkspace

    state = settings.state_dir
    try:
        make_private(state)
        hidden = (state, *filter(None, (settings.record, settings.cassette)))
        return await SnapshotWorkspace.open(settings.workspace, state / "snapshots", run=run, exclude=hidden)
    except (WorkspaceError, OSError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(f"the workspace cannot be recorded in {str(state)!r}: {why}") from error


def running_folder(settings: Settings, run: str) -> Path:
    """Where the notes of a run's running commands are: each run ends its own after a crash, and nobody else's."""
    return settings.state_dir / "running" / run


def outputs_folder(settings: Settings, run: str) -> Path:
    """Where the whole outputs of a run's commands are."""
    return settings.state_dir / "outputs" / run


def open_toolbox(
    settings: Settings, active_states: Callable[[], Collection[str]], run: str = "", lookups: RunLookups | None = None
) -> Toolbox:
    """All tools of a run behind the gate.

    Args:
        lookups: What tools may ask about the run itself; of a run that is only looked at, nothing.

    Raises:
        ConfigError: A rule is malformed; a sandbox is asked for, and this machine has none; an MCP server does not
            start.
    """
    from rawko.tools.commands.bash import BashSettings
    from rawko.tools.mcp import McpError
    from rawko.tools.sandbox import SandboxError
    from rawko.tools.toolbox import build_toolbox

    try:
        return build_toolbox(
            settings.workspace,
            state_dir=settings.state_dir,
            running=running_folder(settings, run),
            outputs=outputs_folder(settings, run),
            agents={name: config.tools for name, config in settings.agents.items()},
            rules=settings.rules,
            assume_yes=settings.assume_yes,
            bash=BashSettings(
                default_timeout_ms=min(settings.bash.default_timeout_ms, settings.bash.max_timeout_ms),
                max_timeout_ms=settings.bash.max_timeout_ms,
                extra_env=settings.bash.extra_env,
            ),
            environ=settings.environ,
            active_states=active_states,
            known_states=partial(_known_states, settings),
            is_confined=settings.sandbox,
            extra_tools=_mcp_tools(settings),
            lookups=lookups or RunningLookups(tuple),
        )
    except McpError as error:
        raise ConfigError(f"{settings.workspace / '.rawko' / 'config.yaml'}: mcp: {error}") from error
    except SandboxError as error:
        raise ConfigError(f"--sandbox: {error}") from error
    except ValueError as error:  # a RuleError among them
        raise ConfigError(f"{settings.workspace / '.rawko' / 'config.yaml'}: rules: {error}") from error
    except OSError as error:
        raise ConfigError(f"the tools cannot be set up: {error}") from error


def _mcp_tools(settings: Settings) -> Sequence[Tool]:
    """The tools of the settings' MCP servers, which are running then."""
    if not settings.mcp:
        return ()
    from rawko.tools.commands.environment import command_environment
    from rawko.tools.mcp import McpServer, McpServers

    servers = [
        McpServer(
            name=name,
            command=options.command,
            env=command_environment(settings.environ, options.env),
            start_timeout_ms=options.start_timeout_ms,
            call_timeout_ms=options.call_timeout_ms,
        )
        for name, options in settings.mcp.items()
    ]
    masker = masker_of(settings)
    return McpServers(servers, root=settings.workspace, log=settings.state_dir / "mcp.log", masker=masker).start()


def tool_notes(toolbox: Toolbox) -> dict[str, Any]:
    """What tools want to know again when the run goes on: approvals, folders. A toolbox that notes nothing gives {}."""
    notes = getattr(toolbox, "notes", None)
    return {} if notes is None else {"toolbox": notes()}


def take_up_tools(toolbox: Toolbox, noted: Mapping[str, Any] | None) -> None:
    """Give tools back what they have noted."""
    take_up = getattr(toolbox, "take_up", None)
    if take_up is not None and noted and "toolbox" in noted:
        take_up(noted["toolbox"])


def _known_states(settings: Settings) -> frozenset[str]:
    """All states that a rule may name: the orchestrator's, the agent loop's, and those of agents' own charts."""
    charts = [shipped_chart(stem) for stem in ("orchestrator", "agent_loop")]
    charts += [chart for chart, _ in agent_machines(settings).values()]
    return frozenset(state for chart in charts for state in chart.states)


# ---------------------------------------------------------------- agents' machines


def agent_machines(settings: Settings, base: Bindings = agent_loop.bindings) -> Mapping[str, Machine]:
    """Chart and bindings by what agents' files name in `chart`: a shipped stem, or the path of a chart (C-09).

    A chart of the project's own may use everything that the agent loop binds, and the functions of its own bindings.
    All are read here, once: a run cannot rewrite its own rules.

    Raises:
        ConfigError: There is no such chart, it has defects, or its bindings cannot be loaded.
    """
    machines: dict[str, Machine] = {}
    for config in settings.agents.values():
        if config.chart not in machines:
            machines[config.chart] = _machine(settings, config, base)
    return machines


@cache
def shipped_chart(stem: str) -> Chart:
    """A chart of the package's own, read once per process."""
    return load_chart(find_chart(stem))


def _machine(settings: Settings, config: AgentConfig, base: Bindings) -> Machine:
    try:
        if config.chart in shipped_charts():
            return shipped_chart(config.chart), base
        project = project_of(settings)
        chart = project_chart(project, config.chart)
        if chart is None:
            raise ConfigError(f"agent {config.name!r}: 'chart' is {config.chart!r}{_accepted_charts(config.chart)}")
    except ChartError as error:
        raise ConfigError(f"agent {config.name!r}: its chart has defects:\n{error}") from error
    try:
        own = project_bindings(project, chart, module=settings.bindings, start=Path(chart.file).parent)
    except BindingsNotFound as error:
        raise ConfigError(f"agent {config.name!r}: {error}") from error
    return chart, base if own is None else base | own


def require_grants(settings: Settings) -> None:
    """Make sure that what a run would execute or obey of the project's files is granted, before anything starts.

    Of a run that goes on this is what it was started with: its charts, servers and templates, as they are now.

    Raises:
        NotTrusted: It is not.
    """
    project = project_of(settings)
    files = project.files
    items = [*chart_items(project, [config.chart for config in settings.agents.values()])]
    users = settings.of_user.get("mcp", {})
    servers = {name: server.to_json() for name, server in settings.mcp.items() if server != users.get(name)}
    items += settings_items(Document({"mcp": servers}, ""), files)
    if settings.prompts_dir is not None and settings.prompts_dir != settings.of_user.get("prompts_dir"):
        inside = files.relative(settings.prompts_dir)
        place = files if inside is not None else project.at(settings.prompts_dir).files
        items += settings_items(Document({"prompts": inside or "."}, ""), place)
    project.require(items)


def templates_of(settings: Settings) -> ProjectTemplates | None:
    """The project's own prompt templates, if its settings name a folder."""
    return None if settings.prompts_dir is None else ProjectTemplates(project_of(settings), settings.prompts_dir)


def _accepted_charts(found: str) -> str:
    return f"{accepted(shipped_charts(), found=found)}, or the path of a chart in the workspace"


def check_machines(settings: Settings, machines: Mapping[str, Machine]) -> None:
    """Refuse a chart whose names are not bound, or that cannot take what an agent is given, before a task starts.

    Raises:
        ConfigError: With every finding that is an error.
    """
    from rawko.runtime.bindings_lookup import bound_names

    for config in settings.agents.values():
        if config.chart in shipped_charts():
            continue  # held to their bindings by tests
        chart, bindings = machines[config.chart]
        findings = check_chart(chart, bound_names(bindings))
        if has_errors(findings):
            told = "\n".join(str(finding) for finding in findings if finding.severity == "error")
            raise ConfigError(f"agent {config.name!r}: its chart has defects:\n{told}")
        given = agent_loop.agent_loop_input(config, "task")
        try:
            Interpreter(chart, bindings, input=given)
        except ContextError as error:
            names = ", ".join(map(repr, given))
            raise ConfigError(
                f"agent {config.name!r}: the context of its chart {config.chart!r} does not take what an agent is "
                f"given ({names}): {error}"
            ) from error
