"""Settings of a run: agents, `.rawko/config.yaml`, environment variables and flags, each over the one before.

Everything is read once, at the start: a run cannot rewrite its own rules.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from rawko.processes.private import make_private, touch_private
from rawko.tools.commands.environment import check_extra
from rawko.trust.charts import chart_items
from rawko.trust.confined import ProjectFiles
from rawko.trust.errors import ConfigError as ConfigError
from rawko.trust.items import Item
from rawko.trust.project import Judge, Project, refuse
from rawko.trust.settings import settings_items, without_trust
from rawko.vocabulary.agent import AgentConfig
from rawko.vocabulary.base import Data
from rawko.vocabulary.budget import Budget
from rawko.vocabulary.documents import Defect, Document, DocumentError, accepted, read_document, read_text
from rawko.vocabulary.rate import Rate
from rawko.vocabulary.usage import Price

FOLDER = ".rawko"
ProviderName = Literal["anthropic", "scripted", "cassette"]
PROVIDERS: tuple[ProviderName, ...] = get_args(ProviderName)
Headless = Literal["fail", "park", "default"]
"""What becomes of a question when nobody is there: the run fails, waits in its journal, or takes the default answer."""
HEADLESS: tuple[Headless, ...] = get_args(Headless)
BUILT_IN_AGENTS = Path(__file__).parent / "agents"
TOOLS = (
    *("read", "write", "edit", "glob", "grep", "bash", "changes", "output"),
    *("update_plan", "clarify", "pause", "complete"),
)
"""Every tool that an agent's file may name: those of the toolbox, and the machine's own."""
MCP_PREFIX = "mcp__"
"""How tools of MCP servers begin; which there are is known when the servers run."""
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
MAX_INSTRUCTION_CHARS = 100_000
MAX_AGENT_BYTES = 1_000_000
MAX_DIGITS = 9


class BashOptions(Data):
    """Bounds of the tool `bash`, in milliseconds; `extra_env` names variables that commands may see."""

    default_timeout_ms: Annotated[int, Field(ge=100)] = 120_000
    max_timeout_ms: Annotated[int, Field(ge=100)] = 600_000
    extra_env: Annotated[tuple[str, ...], AfterValidator(check_extra)] = ()


class McpOptions(Data):
    """A server of the Model Context Protocol: its command line; `env` names variables that it may see."""

    command: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    env: Annotated[tuple[str, ...], AfterValidator(check_extra)] = ()
    start_timeout_ms: Annotated[int, Field(ge=100)] = 30_000
    call_timeout_ms: Annotated[int, Field(ge=100)] = 120_000


ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=24)]


class DefaultAnswers(Data):
    """What `headless: default` answers, by the kind of question; a kind without an answer waits for a person."""

    clarify: Annotated[str, Field(min_length=1)] | None = None
    pause: Annotated[str, Field(min_length=1)] | None = None
    approval: Literal["once", "tool", "always", "deny"] | None = None

    def answer_to(self, kind: str) -> str | None:
        """The answer to a question of a kind, if there is one."""
        answers: dict[str, str | None] = self.to_json()
        return answers.get(kind)


class ProjectConfig(Data):
    """`.rawko/config.yaml`."""

    provider: ProviderName | None = None
    model: str | None = None
    base_url: str | None = None
    scenario: str | None = None
    cassette: str | None = None
    max_iterations: Annotated[int, Field(ge=1)] = 50
    max_consecutive_failures: Annotated[int, Field(ge=1)] = 3
    max_tokens: Annotated[int, Field(ge=1)] = 8192
    timeout_ms: Annotated[int, Field(ge=100)] = 600_000
    rules: tuple[str, ...] = ()
    prices: dict[str, Price] = Field(default_factory=dict)
    budget: Budget = Budget()
    rate: Rate = Rate()
    context_window: Annotated[int, Field(ge=1000)] | None = None
    headless: Headless = "park"
    default_answers: DefaultAnswers = DefaultAnswers()
    bash: BashOptions = BashOptions()
    sandbox: bool = False
    mcp: dict[ServerName, McpOptions] = Field(default_factory=dict)
    prompts: str | None = None


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line says; None where it says nothing."""

    provider: str | None = None
    scenario: str | None = None
    model: str | None = None
    agents_dir: Path | None = None
    max_iterations: int | None = None
    assume_yes: bool = False
    headless: str | None = None
    budget: Budget = field(default_factory=Budget)
    cassette: Path | None = None
    record: Path | None = None
    sandbox: bool | None = None
    bindings: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a session needs to know.

    Attributes:
        workspace: The folder that agents work in.
        state_dir: Where rawko keeps what it remembers of this workspace; outside of it.
        agents: By name, in a stable order.
        project_instructions: Text of AGENTS.md or CLAUDE.md, or "".
        timeout_ms: Bound of one model call.
        budget: Of the whole run.
        rate: Of tool calls and model calls, in a minute.
        context_window: Of the model, in tokens; None for what is known of the model.
        headless: What becomes of questions when nobody is there; `default_answers` are those of "default".
        cassette: The file that the provider of this name plays.
        record: The file that everything the provider answers is recorded into.
        sandbox: Run what tools start in a sandbox; a machine that has none is told before the task starts.
        mcp: Servers of further tools, by name.
        environ: The environment that they were read from; keys and what commands may see come from it.
        project: The project's files and what the user has granted it; None: `of_project` makes one that grants nothing.
        of_project: Which of `scenario`, `cassette` the project's file names, and not the user.
        bindings: The module that the user names for agents' own charts, over the project's.
    """

    workspace: Path
    state_dir: Path
    provider: ProviderName
    model: str | None
    base_url: str | None
    scenario: str | None
    agents: Mapping[str, AgentConfig]
    max_iterations: int
    max_consecutive_failures: int
    max_tokens: int
    timeout_ms: int
    rules: tuple[str, ...]
    prices: Mapping[str, Price]
    bash: BashOptions
    prompts_dir: Path | None
    assume_yes: bool
    project_instructions: str = ""
    budget: Budget = field(default_factory=Budget)
    rate: Rate = field(default_factory=Rate)
    context_window: int | None = None
    headless: Headless = "park"
    default_answers: DefaultAnswers = field(default_factory=DefaultAnswers)
    cassette: Path | None = None
    record: Path | None = None
    sandbox: bool = False
    mcp: Mapping[str, McpOptions] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    project: Project | None = field(default=None, compare=False, repr=False)
    of_project: frozenset[str] = frozenset()
    bindings: str | None = None


def project_of(settings: Settings) -> Project:
    """The project in the workspace of some settings."""
    known = settings.project or Project(settings.workspace)
    return known.at(settings.workspace)


def load_settings(
    workspace: Path,
    flags: Flags,
    environ: Mapping[str, str],
    *,
    judge: Judge = refuse,
    has_powers: bool = True,
) -> Settings:
    """The settings of a run in a folder.

    Args:
        judge: Decides about what the project asks for and the user has not decided yet; refuses by default.
        has_powers: Whether what needs trust is asked for at once; else the project's settings count without it.

    Raises:
        NotTrusted: The project asks for what needs trust, and does not have it.
        ConfigError: Some setting cannot be used; says which and where it stands.
    """
    workspace = workspace.resolve()
    if not workspace.is_dir():
        raise ConfigError(f"the workspace {str(workspace)!r} is not a folder")
    project = Project(workspace, judge)
    document = _project_document(project.files)
    config = _checked(document)
    agents = load_agents(flags.agents_dir or _agents_dir(project, environ), project.files)
    if has_powers:
        bounded = flags.budget.cost_usd is not None  # else prices bound nothing of the user's
        project.require(item for item in _wishes(project, document, agents) if bounded or item.kind != "prices")
    else:
        config = ProjectConfig.model_validate(without_trust(document.data))
    provider = _provider(flags, environ, config)
    scenario = flags.scenario or environ.get("RAWKO_SCENARIO") or config.scenario
    if provider == "scripted" and not scenario:
        raise ConfigError("provider 'scripted' needs a scenario: --scenario NAME (shipped: 'fizzbuzz', or a file)")
    cassette = _cassette(workspace, flags, environ, config)
    if provider == "cassette" and cassette is None:
        raise ConfigError("provider 'cassette' needs a file: --cassette FILE (record one with --record FILE)")
    record = None if flags.record is None else flags.record.absolute()
    if record is not None and provider == "cassette":
        raise ConfigError("--record: what a cassette answers is recorded already; name another provider, or leave it")
    prompts = workspace / config.prompts if config.prompts else None
    if prompts is not None and project.files.names(str(config.prompts)) is None:
        raise ConfigError(f"{workspace / FOLDER / 'config.yaml'}: 'prompts' names {str(prompts)!r}, which is no folder")
    return Settings(
        workspace=workspace,
        state_dir=state_dir(workspace, environ),
        provider=provider,
        model=flags.model or environ.get("RAWKO_MODEL") or config.model or _recorded_model(provider, cassette),
        base_url=environ.get("ANTHROPIC_BASE_URL") or config.base_url,
        scenario=scenario,
        agents=agents,
        max_iterations=flags.max_iterations or _number(environ, "RAWKO_MAX_ITERATIONS") or config.max_iterations,
        max_consecutive_failures=config.max_consecutive_failures,
        max_tokens=config.max_tokens,
        timeout_ms=config.timeout_ms,
        rules=config.rules,
        prices=config.prices,
        bash=config.bash,
        prompts_dir=prompts,
        assume_yes=flags.assume_yes,
        project_instructions=project_instructions(project.files),
        budget=flags.budget.over(config.budget),
        rate=config.rate,
        context_window=config.context_window,
        headless=_headless(flags, environ, config),
        default_answers=config.default_answers,
        cassette=cassette if provider == "cassette" else None,
        record=record,
        sandbox=_sandbox(flags, environ, config),
        mcp=config.mcp,
        environ=dict(environ),
        project=project,
        of_project=_of_project(flags, environ, config),
        bindings=flags.bindings,
    )


def wishes(project: Project) -> tuple[Item, ...]:
    """What a project's settings and its agents' charts ask for, that needs trust.

    Raises:
        ConfigError: Its settings or agents cannot be used.
    """
    document = _project_document(project.files)
    _checked(document)
    return _wishes(project, document, load_agents(_agents_dir(project, {}), project.files))


def _wishes(project: Project, document: Document, agents: Mapping[str, AgentConfig]) -> tuple[Item, ...]:
    charts = chart_items(project, [agent.chart for agent in agents.values()])
    return (*settings_items(document, project.files), *charts)


def _project_document(files: ProjectFiles) -> Document:
    """`.rawko/config.yaml` as data, empty where there is none.

    Raises:
        ConfigError: It is not read, or no YAML.
    """
    source = str(files.root / FOLDER / "config.yaml")
    text = files.text(f"{FOLDER}/config.yaml")
    try:
        return Document({}, source) if text is None else read_document(text, source=source)
    except DocumentError as error:
        raise ConfigError(str(error)) from error


def _checked(document: Document) -> ProjectConfig:
    try:
        return document.checked(ProjectConfig)
    except DocumentError as error:
        raise ConfigError(str(error)) from error


def _sandbox(flags: Flags, environ: Mapping[str, str], config: ProjectConfig) -> bool:
    """Whether commands run in a sandbox: a project may ask for one; only the user can do without."""
    if flags.sandbox is not None:
        return flags.sandbox
    found = environ.get("RAWKO_SANDBOX")
    if found:
        if found not in _SWITCH:
            raise ConfigError(f"RAWKO_SANDBOX: {found!r}{accepted(_SWITCH, found=found)}")
        return _SWITCH[found]
    return config.sandbox


_SWITCH = {"1": True, "true": True, "0": False, "false": False}


def _of_project(flags: Flags, environ: Mapping[str, str], config: ProjectConfig) -> frozenset[str]:
    """Which files to play are the project's choice, and not the user's."""
    named = {
        "scenario": not (flags.scenario or environ.get("RAWKO_SCENARIO")) and config.scenario,
        "cassette": not (flags.cassette or environ.get("RAWKO_CASSETTE")) and config.cassette,
    }
    return frozenset(name for name, is_projects in named.items() if is_projects)


def _provider(flags: Flags, environ: Mapping[str, str], config: ProjectConfig) -> ProviderName:
    """The provider asked for; a scenario or a cassette alone asks for the one that plays it."""
    for source, value in (("--provider", flags.provider), ("RAWKO_PROVIDER", environ.get("RAWKO_PROVIDER"))):
        if value:
            if value not in PROVIDERS:
                raise ConfigError(f"{source}: {value!r}{accepted(PROVIDERS, found=value)}")
            return value
    if flags.cassette is not None:
        return "cassette"
    if flags.scenario or environ.get("RAWKO_SCENARIO"):
        return "scripted"
    if environ.get("RAWKO_CASSETTE"):
        return "cassette"
    return config.provider or ("scripted" if config.scenario else "cassette" if config.cassette else "anthropic")


def _cassette(workspace: Path, flags: Flags, environ: Mapping[str, str], config: ProjectConfig) -> Path | None:
    """The cassette to play; one that the project's file names lies in the workspace."""
    if flags.cassette is not None:
        return flags.cassette.absolute()
    if environ.get("RAWKO_CASSETTE"):
        return Path(environ["RAWKO_CASSETTE"]).absolute()
    return workspace / config.cassette if config.cassette else None


def _recorded_model(provider: ProviderName, cassette: Path | None) -> str | None:
    """The model that a cassette was recorded with: the one that its requests name."""
    if provider != "cassette" or cassette is None:
        return None
    from rawko.providers.cassette.errors import CassetteError
    from rawko.providers.cassette.file import read_header

    try:
        return read_header(cassette).model
    except CassetteError as error:
        raise ConfigError(f"cassette {error}") from error


def _headless(flags: Flags, environ: Mapping[str, str], config: ProjectConfig) -> Headless:
    """The policy asked for; "default" needs something to answer with."""
    found: Headless = config.headless
    for source, value in (("RAWKO_HEADLESS", environ.get("RAWKO_HEADLESS")), ("--headless", flags.headless)):
        if value:
            found = checked_headless(source, value)
    if found == "default" and config.default_answers == DefaultAnswers():
        raise ConfigError(
            "headless 'default' needs answers: set default_answers (clarify, pause, approval) in .rawko/config.yaml"
        )
    return found


def checked_headless(source: str, value: str) -> Headless:
    """A policy, as somebody has written it.

    Args:
        source: Where it was written.

    Raises:
        ConfigError: There is no such policy.
    """
    for known in HEADLESS:
        if known == value:
            return known
    raise ConfigError(f"{source}: {value!r}{accepted(HEADLESS, found=value)}")


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name)
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > MAX_DIGITS or int(text) < 1:
        raise ConfigError(f"{name}: found {text[:40]!r}; accepted: a whole number >= 1")
    return int(text)


# ---------------------------------------------------------------- agents


def _agents_dir(project: Project, environ: Mapping[str, str]) -> Path | None:
    """The project's own agents, or None where it has none: then the built-in ones serve."""
    named = environ.get("RAWKO_AGENTS")
    if named:
        return Path(named)
    folder = f"{FOLDER}/agents"
    is_there = project.files.names(FOLDER) is not None and project.files.names(folder) is not None
    return project.root / folder if is_there else None


def load_agents(folder: Path | None, files: ProjectFiles | None = None) -> Mapping[str, AgentConfig]:
    """The agents of a folder, one file each, by name; the built-in ones for None.

    Args:
        files: Of the project: a folder in it is read within its bounds, any other one is the user's own.

    Raises:
        ConfigError: The folder is not there or holds no agent; a file is malformed; two agents of one name.
    """
    if folder is None:
        folder = BUILT_IN_AGENTS
    inside = None if files is None else files.relative(folder)
    if inside is None or files is None:
        return _agents_of(folder, _plain_files(folder), read_text)
    projects, root = files, files.root

    def read(path: Path) -> str:
        name = path.relative_to(root).as_posix()
        text = projects.text(name, limit=MAX_AGENT_BYTES)
        return "" if text is None else text

    listed = projects.names(inside)
    names = None if listed is None else [root / inside / name for name in listed]
    return _agents_of(root / inside, names, read)


def _agents_of(folder: Path, listed: Iterable[Path] | None, read: Callable[[Path], str]) -> Mapping[str, AgentConfig]:
    if listed is None:
        raise ConfigError(f"there is no folder {str(folder)!r} with agents; `rawko init` writes one")
    defects: list[Defect] = []
    agents: dict[str, AgentConfig] = {}
    origin: dict[str, Path] = {}
    for path in _agent_files(listed):
        try:
            agent = _load_agent(path, read(path))
        except DocumentError as error:
            defects += error.defects
            continue
        if agent.name in agents:
            defects.append(Defect(str(path), 1, 1, f"agent {agent.name!r} is in {origin[agent.name].name!r} already"))
        agents[agent.name], origin[agent.name] = agent, path
    if defects:
        raise ConfigError("\n".join(map(str, defects)))
    if not agents:
        raise ConfigError(
            f"the folder {str(folder)!r} holds no agent (no *.yaml); `rawko init` writes the built-in ones"
        )
    return agents


def _plain_files(folder: Path) -> list[Path] | None:
    if not folder.is_dir():
        return None
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise ConfigError(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from error


def _agent_files(listed: Iterable[Path]) -> list[Path]:
    """Sorted by name; hidden files are what editors and file systems leave behind."""
    return sorted(p for p in listed if p.suffix in (".yaml", ".yml") and not p.name.startswith("."))


def _load_agent(path: Path, text: str) -> AgentConfig:
    """One agent; a tool that there is not would be a rule that says nothing.

    Raises:
        DocumentError: The file is malformed.
    """
    document = read_document(text, source=str(path))
    agent = document.checked(AgentConfig)
    defects = [
        Defect(str(path), *document.place(("tools", key, index)), f"there is no tool {name!r}{_known_tools(name)}")
        for key, names in (("allowed", agent.tools.allowed or ()), ("blocked", agent.tools.blocked))
        for index, name in enumerate(names)
        if name not in TOOLS and not name.startswith(MCP_PREFIX)
    ]
    if defects:
        raise DocumentError(defects)
    return agent


def _known_tools(found: str) -> str:
    return accepted(TOOLS, found=found)


# ---------------------------------------------------------------- places


def state_dir(workspace: Path, environ: Mapping[str, str]) -> Path:
    """Where rawko keeps what it remembers of a workspace: outside of it, one folder per workspace.

    `RAWKO_STATE_DIR` replaces the user's data folder. The workspace of a fork shares the folder of its origin, and one
    that has moved keeps its own: what is there under its present name is a pointer.
    """
    own = own_state_dir(workspace, environ)
    pointer = own / STATE_POINTER
    try:
        return own.parent / os.fsdecode(pointer.read_bytes().removesuffix(b"\n"))
    except (FileNotFoundError, NotADirectoryError):
        return own
    except OSError as error:
        raise ConfigError(f"the state folder {str(own)!r} cannot be read: {error.strerror}") from error


STATE_POINTER = "elsewhere"
"""A file that names the state folder to use instead, beside this one."""
_STATE_NAME_BYTES = 200
"""Of the workspace's name, for people; the whole path is in the digest behind it."""


def own_state_dir(workspace: Path, environ: Mapping[str, str]) -> Path:
    """The state folder of a workspace by its path alone."""
    digest = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:12]
    called = os.fsdecode(os.fsencode(workspace.name or "root")[:_STATE_NAME_BYTES])
    name = f"{called}-{digest}"
    base = environ.get("RAWKO_STATE_DIR")
    if base:
        return Path(base).absolute() / name
    from platformdirs import user_data_path

    return user_data_path("rawko").absolute() / name


def share_state(workspace: Path, state: Path, environ: Mapping[str, str]) -> None:
    """Let a workspace use the state folder of another one.

    Raises:
        ConfigError: It has runs of its own, or the pointer cannot be written.
    """
    own = own_state_dir(workspace, environ)
    if own == state:
        return
    if own.parent != state.parent:
        raise ConfigError(f"the state folder {str(state)!r} is not in {str(own.parent)!r}; check RAWKO_STATE_DIR")
    if any((own / "runs").glob("*/run.json")):
        raise ConfigError(f"the folder {str(workspace)!r} has runs of its own already (`rawko runs` there)")
    try:
        make_private(own)
        touch_private(own / STATE_POINTER)
        (own / STATE_POINTER).write_bytes(os.fsencode(state.name) + b"\n")
    except OSError as error:
        raise ConfigError(f"{own / STATE_POINTER}: cannot be written: {error.strerror}") from error


def project_instructions(files: ProjectFiles) -> str:
    """What the project tells agents: its AGENTS.md, else its CLAUDE.md, else "".

    Raises:
        ConfigError: The file leads out of the project, is none, or is too large.
    """
    for name in _INSTRUCTIONS:
        data = files.read(name)
        if data is None:
            continue
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > MAX_INSTRUCTION_CHARS:
            raise ConfigError(
                f"{files.root / name}: {len(text)} characters; accepted: at most {MAX_INSTRUCTION_CHARS}, since every "
                "model call carries them"
            )
        return text
    return ""


# ---------------------------------------------------------------- schemas


def schemas() -> Mapping[str, Any]:
    """JSON Schemas (Draft 2020-12) of the files that people write here, by name."""
    found = {"agent": AgentConfig.model_json_schema(), "config": ProjectConfig.model_json_schema()}
    return {name: {"$schema": "https://json-schema.org/draft/2020-12/schema", **s} for name, s in found.items()}
