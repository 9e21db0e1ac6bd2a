"""The composition root: from settings to a running session. The one place where adapters meet machines."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rawko.chart import Chart, ChartError, find_chart, load_chart, shipped_charts
from rawko.config import ConfigError, Settings
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.values import thaw
from rawko.machines import agent_loop, orchestrator
from rawko.machines.agent_loop import actors as agent_loop_actors
from rawko.machines.orchestrator import actors as orchestrator_actors
from rawko.machines.orchestrator.arbiter.prompt import PLACEHOLDERS as ORCHESTRATOR_PROMPTS
from rawko.machines.prompts import PromptError, Prompts
from rawko.providers.metered import MeteredProvider
from rawko.providers.models import resolve_model
from rawko.runtime.actor import Actor
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.ports import Answer, People, Provider, Question, WorkspaceError
from rawko.runtime.session import LogWriter, Session
from rawko.vocabulary.agent import AgentConfig, describe
from rawko.vocabulary.usage import Price, Usage

CLEANUP_DEADLINE_S: Final = 5.0
"""How long a provider, a toolbox or a workspace may take to close before the run is reported done (C-30)."""

Outcome = Literal["success", "failure", "limit", "cancelled", "needs_person"]
EXIT_CODES: Final[Mapping[str, int]] = {
    "success": 0,
    "failure": 1,
    "limit": 3,
    "needs_person": 4,
    "cancelled": 130,
}
BAD_INPUT: Final = 2
_NEVER_STARTED: Final = frozenset({"authentication", "not_found", "permission", "billing"})
"""Provider codes that are the settings' fault, if nothing was done yet."""

_SCRIPTED_PRICES: Final = {"scripted": Price(input=0.0, output=0.0)}


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a run.

    Attributes:
        state: Final state of the machine, or where it waits.
        iterations: Agent runs; model turns where one agent ran alone.
        files_changed: From the trees before and after the run, never from prose (C-48).
        diff: Unified diff between these trees.
        error: ErrorContext of a failure.
        question: What a person has to answer, where the outcome is needs_person.
        is_bad_input: The settings are at fault, and nothing was done.
    """

    run: str
    state: str
    outcome: Outcome
    iterations: int
    usage: Usage
    cost_usd: float | None
    files_changed: tuple[str, ...]
    summary: str = ""
    error: Mapping[str, Any] | None = None
    question: Mapping[str, Any] | None = None
    diff: str = ""
    duration_ms: int = 0
    notes: tuple[str, ...] = ()
    is_bad_input: bool = False

    @property
    def exit_code(self) -> int:
        return BAD_INPUT if self.is_bad_input else EXIT_CODES[self.outcome]

    def to_json(self) -> dict[str, Any]:
        """The report as the last line of `rawko run --json`; the diff is left out."""
        return {
            "run": self.run,
            "state": self.state,
            "outcome": self.outcome,
            "iterations": self.iterations,
            "usage": self.usage.to_json(),
            "cost_usd": self.cost_usd,
            "files_changed": list(self.files_changed),
            "summary": self.summary,
            "error": None if self.error is None else dict(self.error),
            "question": None if self.question is None else dict(self.question),
            "duration_ms": self.duration_ms,
            "notes": list(self.notes),
        }


class Nobody:
    """No person is there: questions stay open (C-20: never a made-up answer)."""

    async def ask(self, question: Question) -> Answer | None:
        return None


@dataclass(slots=True)
class Run:
    """One task under a machine, from settings to report.

    Args:
        agent: Run this agent's loop alone, without an arbiter.
        observe: Called with every event of the inspection stream.
        log: Where the machine's log lines go.
    """

    settings: Settings
    task: str
    agent: str | None = None
    people: People = field(default_factory=Nobody)
    observe: Callable[[InspectionEvent], None] | None = None
    log: LogWriter | None = None
    id: str = field(default_factory=lambda: f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}")
    _actor: Actor | None = None
    _meter: MeteredProvider | None = None
    _question: dict[str, Any] | None = None
    _asked: asyncio.Event = field(default_factory=asyncio.Event)
    _is_cancelled: bool = False
    _notes: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Everything that can be told before a task starts.

        Raises:
            ConfigError: Empty task, unknown agent, no way to a model, a chart or a template that cannot be used.
        """
        if not self.task.strip():
            raise ConfigError('the task is empty; say what is to be done: rawko run "Add a --version option"')
        if self.agent is not None and self.agent not in self.settings.agents:
            from rawko.vocabulary.documents import accepted

            raise ConfigError(f"there is no agent {self.agent!r}{accepted(self.settings.agents, found=self.agent)}")
        for config in self.settings.agents.values():
            agent_chart(self.settings, config)

    async def execute(self) -> Report:
        """Run the task to its end.

        Raises:
            ConfigError: See `check`; also a scenario, a rule or a workspace that cannot be used.
        """
        self.check()
        started = time.monotonic()
        async with AsyncExitStack() as stack:
            provider = open_provider(self.settings)
            stack.push_async_callback(self._close, provider.aclose, "provider")
            self._meter = meter = MeteredProvider(provider)
            workspace = await self._open_workspace()
            stack.push_async_callback(self._close, workspace.aclose, "workspace")
            toolbox = self._open_toolbox()
            stack.push_async_callback(self._close, toolbox.aclose, "tools")
            actor = self._make_actor(meter, workspace, toolbox)
            before = await self._captured(workspace, "before the run")
            await self._drive(actor)
            after = await self._captured(workspace, "after the run")
            files, diff = await self._compared(workspace, before, after)
        unused = getattr(provider, "unused", None)
        if unused is not None and (left := unused()):
            self._notes.append(f"the scenario has {len(left)} replies that nobody asked for, the first: {left[0]}")
        return self._report(actor, files, diff, int((time.monotonic() - started) * 1000))

    # ------------------------------------------------------------ opening

    async def _open_workspace(self) -> Any:
        from rawko.workspace import SnapshotWorkspace

        settings = self.settings
        try:
            return await SnapshotWorkspace.open(settings.workspace, settings.state_dir / "snapshots", run=self.id)
        except (WorkspaceError, OSError) as error:
            raise ConfigError(f"the workspace cannot be recorded: {error}") from error

    def _open_toolbox(self) -> Any:
        from rawko.tools.bash import BashSettings
        from rawko.tools.rules import RuleError
        from rawko.tools.toolbox import build_toolbox

        settings = self.settings
        try:
            return build_toolbox(
                settings.workspace,
                state_dir=settings.state_dir,
                agents={name: config.tools for name, config in settings.agents.items()},
                rules=settings.rules,
                assume_yes=settings.assume_yes,
                bash=BashSettings(
                    default_timeout_ms=settings.bash.default_timeout_ms,
                    max_timeout_ms=settings.bash.max_timeout_ms,
                    extra_env=settings.bash.extra_env,
                ),
                environ=settings.environ or None,
                active_states=self._active_states,
            )
        except (RuleError, ValueError, OSError) as error:
            raise ConfigError(f"rules: {error}") from error

    def _active_states(self) -> frozenset[str]:
        """Active states of the whole tree, for rules that name states."""
        actor = self._actor
        if actor is None:
            return frozenset()
        tree = [actor, *actor.session.actors.values()]
        return frozenset(state for one in tree for state in one.configuration)

    def _make_actor(self, meter: MeteredProvider, workspace: Any, toolbox: Any) -> Actor:
        settings = self.settings
        model = "scripted" if settings.provider == "scripted" else resolve_model(settings.model)
        try:
            loop_prompts = Prompts.load("agent_loop", agent_loop_actors.PLACEHOLDERS, override=settings.prompts_dir)
            arbiter_prompts = Prompts.load("orchestrator", ORCHESTRATOR_PROMPTS, override=settings.prompts_dir)
        except PromptError as error:
            raise ConfigError(str(error)) from error
        loop_bindings = agent_loop.bindings | agent_loop_actors.actors(
            agent_loop_actors.AgentLoopPorts(
                provider=meter,
                toolbox=toolbox,
                workspace=workspace,
                people=self.people,
                prompts=loop_prompts,
                agents=settings.agents,
                model=model,
                project_instructions=settings.project_instructions,
                max_tokens=settings.max_tokens,
            )
        )

        def machine(chart: str, agent: str) -> tuple[Chart, Bindings]:
            return agent_chart(settings, settings.agents[agent], loop_bindings)

        session = Session(run=self.id, log=self.log)
        session.stream.subscribe(self._watch)
        if self.observe is not None:
            session.stream.subscribe(self.observe)
        seed = int.from_bytes(self.id.encode(), "big") % 2**31
        if self.agent is not None:
            config = settings.agents[self.agent]
            chart, bindings = machine(config.chart, self.agent)
            given = agent_loop.agent_loop_input(config, self.task, seed=seed)
            return Actor(chart, bindings, input=given, session=session)
        bindings = orchestrator.bindings | orchestrator_actors.actors(
            orchestrator_actors.OrchestratorPorts(meter, model, arbiter_prompts, machine)
        )
        given = {
            "agents": {name: describe(config).to_json() for name, config in settings.agents.items()},
            "max_iterations": settings.max_iterations,
            "max_consecutive_failures": settings.max_consecutive_failures,
            "provider_name": settings.provider,
            "session_id": self.id,
            "seed": seed,
        }
        return Actor(load_chart(find_chart("orchestrator")), bindings, input=given, session=session)

    # ------------------------------------------------------------ driving

    async def _drive(self, actor: Actor) -> None:
        """Run the machine until it ends, or until it needs a person and nobody is there."""
        self._actor = actor
        async with actor:
            if self.agent is None:
                actor.send("START_TASK", task=self.task)
            if self._is_cancelled:
                actor.send("CANCEL")
            ended = asyncio.create_task(actor.run())
            asked = asyncio.create_task(self._asked.wait())
            try:
                await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (ended, asked):
                    task.cancel()
                await asyncio.gather(ended, asked, return_exceptions=True)

    def _watch(self, event: InspectionEvent) -> None:
        if event["type"] == "emit" and event["event"] == "NEEDS_PERSON":
            self._question = dict(event["data"])
            self._asked.set()

    def cancel(self) -> None:
        """Stop through the machine: tools are stopped, the workspace captured, the run recorded as cancelled."""
        self._is_cancelled = True
        if self._actor is not None and not self._actor.is_ended:
            self._actor.send("CANCEL")

    def usage(self) -> tuple[Usage, float | None]:
        """Tokens so far and what they cost, in US dollars (None: unknown)."""
        if self._meter is None:
            return Usage(), None
        return self._meter.total, self._meter.cost_usd({**_SCRIPTED_PRICES, **self.settings.prices})

    # ------------------------------------------------------------ closing and reporting

    async def _close(self, close: Callable[[], Any], what: str) -> None:
        """Close a part within the deadline; a failure is noted and never masks the verdict (C-30)."""
        try:
            async with asyncio.timeout(CLEANUP_DEADLINE_S):
                await close()
        except Exception as error:  # noqa: BLE001 - whatever an adapter raises while closing
            self._notes.append(f"closing the {what} failed: {str(error) or type(error).__name__}")

    async def _captured(self, workspace: Any, label: str) -> str | None:
        try:
            snapshot = await workspace.capture(label)
        except WorkspaceError as error:
            self._notes.append(f"the workspace could not be captured {label}: {error}")
            return None
        if snapshot.skipped:
            self._notes.append(f"not captured: {', '.join(snapshot.skipped[:5])}")
        return str(snapshot.tree)

    async def _compared(self, workspace: Any, before: str | None, after: str | None) -> tuple[tuple[str, ...], str]:
        if before is None or after is None:
            return (), ""
        changes = await workspace.changes(before, after)
        diff = await workspace.diff(before, after) if changes else ""
        return tuple(change.path for change in changes), diff

    def _report(self, actor: Actor, files: tuple[str, ...], diff: str, duration_ms: int) -> Report:
        output: Mapping[str, Any] = thaw(actor.output) or {}
        usage, cost = self.usage()
        error = output.get("error")
        summary = output.get("summary") or ""
        if actor.interpreter.final:
            outcome: Outcome = output.get("outcome", "success")
        elif self._question is not None:
            outcome = "needs_person"
        elif self._is_cancelled:
            outcome = "cancelled"
        else:
            outcome = "failure"
            message = str(actor.error or "the machine stopped before its end")
            error = {"category": "unknown", "message": message}
        if outcome == "failure" and not summary and error:
            summary = str(error.get("message", ""))
        iterations = output.get("iterations", output.get("turns", _counted(actor)))
        is_untouched = not files and not actor.context.get("history") and not output.get("tool_steps")
        code = error.get("code") if error else None
        return Report(
            run=self.id,
            state=_state(actor),
            outcome=outcome,
            iterations=iterations,
            usage=usage,
            cost_usd=cost,
            files_changed=files,
            summary=summary,
            error=error,
            question=self._question if outcome == "needs_person" else None,
            diff=diff,
            duration_ms=duration_ms,
            notes=tuple(self._notes),
            is_bad_input=outcome == "failure" and is_untouched and code in _NEVER_STARTED,
        )


def _state(actor: Actor) -> str:
    """The innermost active state; of the machine itself, not of its children."""
    return actor.configuration[-1] if actor.configuration else ""


def _counted(actor: Actor) -> int:
    context = actor.context
    count = context.get("iteration_count", context.get("turns", 0))
    return int(count)


# ---------------------------------------------------------------- parts


def open_provider(settings: Settings) -> Provider:
    """The provider that the settings ask for.

    Raises:
        ConfigError: No key and no endpoint, or a scenario that cannot be used.
    """
    if settings.provider == "scripted":
        from rawko.providers.scenario_errors import ScenarioError
        from rawko.providers.scenario_file import load_scenario
        from rawko.providers.scripted import ScriptedProvider

        assert settings.scenario is not None
        try:
            return ScriptedProvider(load_scenario(settings.scenario))
        except ScenarioError as error:
            raise ConfigError(str(error)) from error
    from rawko.providers.endpoint import endpoint_from_env

    environ = dict(settings.environ)
    if settings.base_url:
        environ["ANTHROPIC_BASE_URL"] = settings.base_url
    endpoint = endpoint_from_env(environ)
    if endpoint is None:
        raise ConfigError(NO_MODEL)
    from rawko.providers.anthropic_api import AnthropicProvider

    return AnthropicProvider(endpoint)


NO_MODEL: Final = """no key and no endpoint: rawko does not know which model to ask. Three ways to get going:
  1. a key:       export ANTHROPIC_API_KEY=...
  2. an endpoint: export ANTHROPIC_BASE_URL=http://localhost:11434
                  (any server of the Messages API: Ollama, llama.cpp, LiteLLM ...)
  3. no model:    rawko run "Write fizzbuzz" --scenario fizzbuzz --yes
                  (the demo: only the model's replies are scripted, all else is real)"""


def agent_chart(
    settings: Settings, config: AgentConfig, loop_bindings: Bindings | None = None
) -> tuple[Chart, Bindings]:
    """Chart and bindings of an agent: a shipped chart by its stem, or a file of the project (C-09).

    A chart of the project's own may use everything that the agent loop binds, and the functions of its own bindings.

    Raises:
        ConfigError: There is no such chart, or it has defects.
    """
    base = loop_bindings if loop_bindings is not None else agent_loop.bindings
    try:
        if config.chart in shipped_charts():
            return load_chart(find_chart(config.chart)), base
        path = Path(settings.workspace, config.chart)
        if not path.is_file():
            shipped = ", ".join(map(repr, shipped_charts()))
            raise ConfigError(
                f"agent {config.name!r}: 'chart' is {config.chart!r}; accepted: a shipped chart ({shipped}) or the "
                f"path of a chart in the workspace"
            )
        from rawko.runtime.locate import find_bindings

        chart = load_chart(path)
        own = find_bindings(chart, start=path.parent)
        return chart, base if own is None else base | own
    except ChartError as error:
        raise ConfigError(str(error)) from error
