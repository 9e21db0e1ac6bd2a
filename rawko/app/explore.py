"""One exploration of a program on a terminal: parts opened, node engine driven under a lease, program ended, reported.

After kill -9 the program is gone with its terminal; a resumed
exploration goes on where its journal ends, launches the program anew and makes the decisions again that were recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from rawko.app.exploration_record import ExplorationPlan, ExplorationRecord, explorations_folder
from rawko.app.exploration_report import ExplorationReport, report_of
from rawko.app.journals import open_journal
from rawko.app.names import new_id
from rawko.app.parts import NO_MODEL, open_provider
from rawko.config import ConfigError, Settings
from rawko.machines.node_engine import Adapters, NodeEngineContext
from rawko.machines.node_engine.context import EngineResult, RunReport, RunState, context_from
from rawko.machines.node_engine.errors import LeaseTaken
from rawko.machines.node_engine.explore import ADVISOR, TERMINAL, TRAIL, explore_nodes, policies_of
from rawko.machines.node_engine.explore.advisor import PLACEHOLDERS, ModelAdvisor, NoAdvisor
from rawko.machines.node_engine.explore.deciding import Memory
from rawko.machines.node_engine.explore.nodes import LAUNCH
from rawko.machines.node_engine.explore.ports import Advisor
from rawko.machines.node_engine.leases import JournalLeases
from rawko.machines.node_engine.setup import RunSetup, set_up
from rawko.machines.node_engine.worker import Worker, is_at_work
from rawko.machines.prompts import PromptError, Prompts
from rawko.providers.metered import MeteredProvider
from rawko.providers.models import resolve_model
from rawko.runtime.errors import ActorCrashed, JournalError
from rawko.runtime.replay import ReplayError
from rawko.runtime.session import LogWriter
from rawko.terminal import PtyTerminal
from rawko.terminal.adapter import find_program
from rawko.tools.environment import FIXED, command_environment
from rawko.tools.leftovers import Leftovers
from rawko.vocabulary.usage import Price, Usage

CANCELLED: Final = "cancelled"
RULES: Final = """
  4. rules:       rawko explore --policy FILE COMMAND
                  (they say what is typed at which screen)"""
LEASE_MS: Final = 10_000
"""So long after a kill -9 a resume has to wait at most."""
CLEANUP_DEADLINE_S: Final = 5.0
_FREE: Final = Price(input=0.0, output=0.0)

Tell = Callable[[str, Sequence[Mapping[str, Any]]], None]
"""Called with (node, events) after each attempt, once it is kept."""


@dataclass(slots=True)
class Exploration:
    """One exploration, from its plan to its report.

    Args:
        is_resumed: Go on with the exploration `id`; the plan is then the recorded one.
        tell: Told what the nodes do, as it is kept.
        log: Where the machine's log lines go.
    """

    settings: Settings
    plan: ExplorationPlan
    id: str = field(default_factory=new_id)
    is_resumed: bool = False
    tell: Tell = lambda node, events: None
    log: LogWriter | None = None
    _worker: Worker | None = None
    _terminal: PtyTerminal | None = None
    _meter: MeteredProvider | None = None
    _stop_reason: str | None = None
    _notes: list[str] = field(default_factory=list)

    def check(self) -> None:
        """What can be told without starting anything.

        Raises:
            ConfigError: No such program, or one that cannot be executed.
        """
        problem = find_program(self.plan.command[0], self.settings.environ, self.plan.cwd)
        if problem is not None:
            raise ConfigError(problem)

    async def execute(self) -> ExplorationReport:
        """Explore to the end.

        Raises:
            ConfigError: See `check`; also no way to a model, an unusable scenario or template, a journal or record
                that cannot be used, or another worker has the exploration.
        """
        self.check()
        started = time.monotonic()
        async with AsyncExitStack() as stack:
            record = self._open_record()
            stack.callback(record.close)
            advisor = await self._open_advisor(stack, record)
            # Of this exploration alone, and ended only at a launch: then it is ours, since its lease is.
            leftovers = Leftovers(record.folder / "running")
            self._terminal = terminal = PtyTerminal(
                self.plan.command,
                cwd=self.plan.cwd,
                env=program_environment(self.settings, is_models_choice=self.plan.uses_model),
                size=self.plan.size,
                on_group=lambda group, is_there: (leftovers.note if is_there else leftovers.forget)(group),
                before_launch=leftovers.end_all,
            )
            stack.push_async_callback(self._close, terminal.close, "program")
            journal = open_journal(self.settings)
            stack.push_async_callback(self._close, journal.aclose, "journal")
            if not self.is_resumed:  # only now: what cannot begin leaves nothing behind
                record.begin(self.plan)
            setup = self._setup(record, terminal, advisor)
            ended = await self._drive(setup, journal)
        usage, cost = self.usage()
        report = report_of(self.id, self.plan, ended, record, usage, cost, tuple(self._notes))
        report = replace(report, duration_ms=int((time.monotonic() - started) * 1000))
        record.write_report(report.to_json())
        return report

    # ------------------------------------------------------------ parts

    def _open_record(self) -> ExplorationRecord:
        folder = explorations_folder(self.settings.state_dir) / self.id
        if not self.is_resumed:
            return ExplorationRecord(folder)
        _, record = ExplorationRecord.read(folder)
        if record.report() is not None:
            raise ConfigError(f"exploration {self.id!r} has ended: there is nothing to go on with")
        return record

    async def _open_advisor(self, stack: AsyncExitStack, record: ExplorationRecord) -> Advisor:
        if not self.plan.uses_model:
            return NoAdvisor()
        state = record.last_state
        noted = None if state is None else Memory.model_validate(state.data).notes
        try:
            provider = open_provider(self.settings, noted["position"] if noted else None)
        except ConfigError as error:
            raise ConfigError(f"{error}{RULES if str(error) == NO_MODEL else ''}") from error
        stack.push_async_callback(self._close, provider.aclose, "provider")
        self._meter = meter = MeteredProvider(provider)
        if noted:
            meter.take_up(noted)
        try:
            prompts = Prompts.load("node_engine", PLACEHOLDERS, override=self.settings.prompts_dir)
            model = "scripted" if self.settings.provider == "scripted" else resolve_model(self.settings.model)
            return ModelAdvisor(meter, model, prompts, timeout_ms=self.settings.timeout_ms, notes=meter.notes)
        except PromptError as error:
            raise ConfigError(str(error)) from error

    def _setup(self, record: ExplorationRecord, terminal: PtyTerminal, advisor: Advisor) -> RunSetup:
        adapters = Adapters().bound(TERMINAL, terminal).bound(TRAIL, record).bound(ADVISOR, advisor)
        callbacks = _Telling(record, self.tell)
        return set_up(explore_nodes, self._context(record), adapters=adapters, callbacks=callbacks, log=self.log)

    def _context(self, record: ExplorationRecord) -> NodeEngineContext:
        """The run's input. The machine goes on from its journal, the plain loop from the state that was persisted."""
        settings: dict[str, Any] = {
            "run_id": self.id,
            "policy": "chart",
            "policies": policies_of(self.plan.policy),
            "budgets": self.plan.budgets,
            "ctx": {"policy": self.plan.policy.to_json()},
        }
        state = record.last_state
        if state is None or self.plan.driver == "statechart":
            state = RunState(node_name=LAUNCH)
        return context_from(state, seed=self.id, **settings)

    # ------------------------------------------------------------ driving

    async def _drive(self, setup: RunSetup, journal: Any) -> RunReport:
        leases = JournalLeases(journal, ttl_ms=LEASE_MS)
        self._worker = worker = Worker(leases, driver=self.plan.driver, journal=journal, ttl_ms=LEASE_MS, log=self.log)
        setup = replace(setup, ports=replace(setup.ports, should_stop=self._should_stop(setup)))
        try:
            return await self._under_lease(worker, setup)
        except (LeaseTaken, ReplayError, JournalError) as error:
            raise ConfigError(f"exploration {self.id!r} cannot be gone on with: {error}") from error
        except ActorCrashed as error:
            raise ConfigError(f"exploration {self.id!r} broke off: {error.error}") from error

    async def _under_lease(self, worker: Worker, setup: RunSetup) -> RunReport:
        """Run it. A lease that a killed process of this machine has left behind is taken over at once, another's when
        it has run out."""
        until = time.monotonic() + 2 * LEASE_MS / 1000
        dead: str | None = None
        while True:
            try:
                return await worker.run(setup, dead=dead)
            except LeaseTaken as taken:
                is_alive = is_at_work(taken.owner)
                if not self.is_resumed or is_alive or self._stop_reason is not None or time.monotonic() > until:
                    raise
                if is_alive is None:
                    await asyncio.sleep(LEASE_MS / 20_000)
                else:
                    dead = taken.owner

    def _should_stop(self, setup: RunSetup) -> Callable[[], Any]:
        asked = setup.ports.should_stop

        async def should_stop() -> Any:
            if self._stop_reason is not None:
                return {"stop": True, "reason": self._stop_reason}
            return await asked()

        return should_stop

    def cancel(self) -> None:
        """Stop it, wherever it is; the program is ended, and what was found out is reported."""
        self._stop_reason = CANCELLED
        if self._worker is not None:
            self._worker.stop(self.id, CANCELLED)

    async def kill_tools(self) -> None:
        """Kill the program at once; for somebody who cannot wait for `cancel`."""
        if self._terminal is not None:
            self._terminal.kill()

    def usage(self) -> tuple[Usage, float | None]:
        """Tokens so far and what they cost, in US dollars (None: unknown)."""
        if self._meter is None:
            return Usage(), 0.0
        default = _FREE if self.settings.provider == "scripted" else None
        return self._meter.total, self._meter.cost_usd(self.settings.prices, default=default)

    async def _close(self, close: Callable[[], Any], what: str) -> None:
        """Close a part within the deadline; a failure is noted, and never masks the verdict (C-30)."""
        try:
            async with asyncio.timeout(CLEANUP_DEADLINE_S):
                await close()
        except Exception as error:  # noqa: BLE001 - whatever an adapter raises while closing
            self._notes.append(f"closing the {what} failed: {str(error) or type(error).__name__}")


_KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def program_environment(settings: Settings, *, is_models_choice: bool) -> dict[str, str]:
    """What a program sees of our environment: all but our keys; what commands of agents see, where a model types."""
    environ = settings.environ
    if not is_models_choice:
        return {name: value for name, value in environ.items() if name not in _KEYS}
    handed = command_environment(environ, settings.bash.extra_env)
    return {name: value for name, value in handed.items() if name not in FIXED}  # these are for where nobody looks


class _Telling:
    """The record, and whoever watches: told only of what is kept."""

    def __init__(self, record: ExplorationRecord, tell: Tell) -> None:
        self._record = record
        self._tell = tell
        self._news: Callable[[], None] = lambda: None

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        await self._record.on_persist(state, events, node_name)
        self._news = partial(self._tell, node_name, tuple(events))

    async def on_attempt(self, result: EngineResult) -> None:
        news, self._news = self._news, lambda: None
        news()
