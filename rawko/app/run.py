"""One task under a machine: parts opened, machine driven, parts closed, report written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from rawko.app import continuing, mail
from rawko.app.git import head_of
from rawko.app.journals import begin_journal, nothing_left, open_journal
from rawko.app.meanwhile import is_capturing, keep_edits, needs_reset
from rawko.app.names import new_id
from rawko.app.needs import charts_of, read_only_tools, tools_of
from rawko.app.parts import (
    Machine,
    agent_machines,
    check_machines,
    open_provider,
    open_toolbox,
    open_workspace,
    running_folder,
    take_up_tools,
    tool_notes,
)
from rawko.app.record import change_budget, forget_report, has_report, write_record, write_report
from rawko.app.report import Report, verdict_of
from rawko.app.spending import Stopwatch, UntimedPeople, bounds_of, check_prices, default_price
from rawko.app.standstill import StillProvider, StillToolbox, StillWorkspace
from rawko.chart import Chart, find_chart, load_chart
from rawko.config import ConfigError, Settings
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.values import thaw
from rawko.machines import agent_loop, orchestrator
from rawko.machines.agent_loop import actors as agent_loop_actors
from rawko.machines.agent_loop.invariants import monitors as agent_loop_monitors
from rawko.machines.agent_loop.people import answer_event
from rawko.machines.orchestrator import actors as orchestrator_actors
from rawko.machines.orchestrator.arbiter.prompt import PLACEHOLDERS as ORCHESTRATOR_PROMPTS
from rawko.machines.prompts import PromptError, Prompts
from rawko.providers.metered import MeteredProvider
from rawko.providers.models import context_window, resolve_model
from rawko.runtime.actor import Actor
from rawko.runtime.errors import ActorCrashed, ActorStopped, JournalError
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.journal import Journal
from rawko.runtime.ports import Answer, People, Provider, Question, Toolbox, Unattended, WorkspaceError
from rawko.runtime.recorded import Recorded, read_recorded
from rawko.runtime.replay import ReplayError, replay
from rawko.runtime.session import LogWriter, Session
from rawko.tools.leftovers import Leftovers
from rawko.vocabulary.agent import AgentConfig, describe
from rawko.vocabulary.documents import accepted
from rawko.vocabulary.messages import ToolCall
from rawko.vocabulary.snapshot import ChangedFiles
from rawko.vocabulary.usage import Usage

CLEANUP_DEADLINE_S: Final = 5.0
"""How long a provider, a toolbox or a workspace may take to close before the run is reported done (C-30)."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Where a run is kept: its files' snapshots and its journal; and what that holds of a run that goes on."""

    workspace: Any
    journal: Journal
    recorded: Recorded | None = None


Prepared = tuple[Chart, Bindings, dict[str, Any]]
"""Chart, bindings and input of the machine to run."""


async def _first_of(ends: Iterable[asyncio.Future[Any]], helpers: Iterable[asyncio.Future[Any]]) -> None:
    """Wait for one of the ends; a helper that fails before is not waited in vain for, but raised."""
    waiting, helping = set(ends), set(helpers)
    while True:
        done, _ = await asyncio.wait(waiting | helping, return_when=asyncio.FIRST_COMPLETED)
        if done & waiting:
            return
        for helper in done:
            helper.result()
        helping -= done


class Nobody:
    """No person is there: questions stay open (C-20: never a made-up answer)."""

    async def ask(self, question: Question) -> Answer | None:
        return None


def _files_noted(workspace: Any) -> dict[str, Any]:
    """The snapshot that holds the files as they are known to be, by its commit."""
    latest = workspace.latest
    return {} if latest is None else {"snapshot": latest.commit}


@dataclass(slots=True)
class Run:
    """One task under a machine, from settings to report.

    Args:
        agent: Run this agent's loop alone, without an arbiter.
        observe: Called with every event of the inspection stream.
        is_resumed: Go on with the run `id`, from its journal.
        continues: Id of a run that has ended, whose conversation and plan this one takes over.
        first_event: What a fresh machine is told once it is idle, instead of the task.
        is_cancel: Take the run up only to end it: no model is asked, no tool is run.
        log: Where the machine's log lines go.
    """

    settings: Settings
    task: str
    agent: str | None = None
    people: People = field(default_factory=Nobody)
    observe: Callable[[InspectionEvent], None] | None = None
    log: LogWriter | None = None
    is_resumed: bool = False
    continues: str | None = None
    first_event: tuple[str, Mapping[str, Any]] | None = None
    is_cancel: bool = False
    id: str = field(default_factory=new_id)
    _actor: Actor | None = None
    _meter: MeteredProvider | None = None
    _toolbox: Toolbox | None = None
    _stopwatch: Stopwatch = field(default_factory=Stopwatch)
    _question: dict[str, Any] | None = None
    _asked: asyncio.Event = field(default_factory=asyncio.Event)
    _is_cancelled: bool = False
    _canceller: str = ""
    _legacy: continuing.Legacy | None = None
    _changes: ChangedFiles | None = None
    _resumed_from: Mapping[str, Any] | None = None
    _notes: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model that is asked where an agent names none of its own."""
        return "scripted" if self.settings.provider == "scripted" else resolve_model(self.settings.model)

    def check(self) -> None:
        """What can be told without opening anything.

        Raises:
            ConfigError: Empty task, unknown agent, or a chart that cannot be used.
        """
        if not self.task.strip():
            raise ConfigError('the task is empty; say what is to be done: rawko run "Add a --version option"')
        if self.agent is not None and self.agent not in self.settings.agents:
            raise ConfigError(f"there is no agent {self.agent!r}{accepted(self.settings.agents, found=self.agent)}")
        machines = agent_machines(self.settings)
        check_prices(self.settings, self.agent)
        if self.continues is not None:
            continuing.check_followed(self.settings, self.continues)
            chart = None if self.agent is None else machines[self.settings.agents[self.agent].chart][0]
            if chart is not None and continuing.EVENT not in chart.events:
                raise ConfigError(f"the chart of agent {self.agent!r} does not take the event {continuing.EVENT}")

    def reset(self) -> Run:
        """The same task once more, from the start: a new run with a new id; this one stays as it is.

        Source: C-12.
        """
        return Run(self.settings, self.task, self.agent, self.people, self.observe, self.log)

    async def execute(self) -> Report:
        """Run the task to its end.

        Raises:
            ConfigError: See `check`; also no way to a model, and a scenario, rule, template or workspace that cannot
                be used. No task was started.
        """
        self.check()
        started = time.monotonic()
        async with AsyncExitStack() as stack:
            # A run that goes on is taken hold of before it is read: nobody adds to it any more.
            stores = await self._open_stores(stack) if self.is_resumed else None
            noted = None if stores is None or stores.recorded is None else stores.recorded.notes
            provider = self._open_provider(noted["position"] if noted else None)
            stack.push_async_callback(self._close, provider.aclose, "provider")
            self._meter = meter = MeteredProvider(provider, bounds=bounds_of(self.settings, self._stopwatch))
            if noted:
                meter.take_up(noted)
                self._stopwatch.take_up(noted)
            # In a thread: servers of further tools may take seconds to start, and Ctrl-C is listened to meanwhile.
            self._toolbox = toolbox = await asyncio.to_thread(self._open_toolbox)
            take_up_tools(toolbox, noted)
            stack.push_async_callback(self._close, toolbox.aclose, "tools")
            stores = stores or await self._open_stores(stack)
            workspace = stores.workspace
            actor = await self._make_actor(meter, toolbox, stores)
            if self.continues is not None and not self.is_resumed:  # what cannot be read is told before anything begins
                self._legacy = await self._legacy_of(self.continues)
            if self.is_resumed:  # only now: a run that cannot be resumed is left as it was found
                await asyncio.to_thread(Leftovers(running_folder(self.settings, self.id)).end_all)
                await self._keep_edits(workspace, toolbox)
                forget_report(self.settings, self.id)
                change_budget(self.settings, self.id)
                mail.discard(self.settings, self.id)
            else:
                write_record(
                    self.settings,
                    self.id,
                    self.task,
                    self.agent,
                    continues=self.continues,
                    head=await asyncio.to_thread(head_of, self.settings.workspace, self.settings.environ),
                    charts=charts_of(self.settings, self.agent),
                    tools=tools_of(self.settings, toolbox),
                )
            before = await self._first(workspace)
            if self.continues is not None and before is not None:
                self._changes = await self._changed_since(self.continues, workspace, before)
            await self._drive(actor)
            after = await self._captured(workspace, "after the run")
            files, diff = await self._compared(workspace, before, after)
        unused = getattr(provider, "unused", None)
        if actor.interpreter.final and unused is not None and (left := unused()):
            what = "cassette" if self.settings.provider == "cassette" else "scenario"
            self._notes.append(f"the {what} has {len(left)} replies that nobody asked for, the first: {left[0]}")
        is_cut_off = isinstance(actor.error, JournalError)
        if is_cut_off:  # what was committed stands: it can go on from there
            self._notes.append(
                f"nothing that was done is lost; when that is mended, go on with: rawko resume {self.id}"
            )
        report = self._report(actor, files, diff, int((time.monotonic() - started) * 1000))
        if not is_cut_off:
            write_report(self.settings, self.id, report.to_json())
        return report

    def _open_provider(self, position: Mapping[str, Any] | None) -> Provider:
        if self.is_cancel:
            return StillProvider()
        return open_provider(self.settings, position, is_resumed=self.is_resumed)

    def _open_toolbox(self) -> Toolbox:
        return StillToolbox() if self.is_cancel else open_toolbox(self.settings, self._active_states, self.id)

    # ------------------------------------------------------------ the machine

    def _active_states(self) -> frozenset[str]:
        """Active states of the whole tree, for rules that name states."""
        actor = self._actor
        if actor is None:
            return frozenset()
        tree = [actor, *actor.session.actors.values()]
        return frozenset(state for one in tree for state in one.configuration)

    async def _open_stores(self, stack: AsyncExitStack) -> Stores:
        workspace = await open_workspace(self.settings, self.id)
        stack.push_async_callback(self._close, workspace.aclose, "workspace")
        journal, told = (open_journal(self.settings), None) if self.is_resumed else begin_journal(self.settings)
        stack.push_async_callback(self._close, journal.aclose, "journal")
        if told:
            self._notes.append(told)
        if not self.is_resumed:
            return Stores(workspace, journal)
        try:
            recorded = await read_recorded(journal, self.id)
        except JournalError as error:
            raise ConfigError(f"run {self.id!r} cannot be resumed: {error}") from error
        if not recorded.last_seq and has_report(self.settings, self.id):
            raise nothing_left(self.settings, self.id)
        return Stores(workspace, journal, recorded)

    async def _keep_edits(self, workspace: Any, toolbox: Toolbox) -> None:
        """What was edited since the last snapshot is kept, and told, before anything writes again."""
        at_work = self._resumed_from
        if at_work is None or self.is_cancel or is_capturing(at_work):
            return
        try:
            is_reset = needs_reset(at_work, read_only_tools(self.settings, toolbox))
            self._notes += await keep_edits(workspace, is_reset=is_reset)
        except WorkspaceError as error:
            raise ConfigError(f"run {self.id!r} cannot be resumed: {error.message}") from error

    async def _first(self, workspace: Any) -> str | None:
        """The tree of before the run: its first snapshot."""
        if self.is_resumed and (taken := await workspace.log()):
            return str(taken[0].tree)
        return await self._captured(workspace, "before the run")

    def machine(self, provider: Any = None, toolbox: Any = None, workspace: Any = None) -> Prepared:
        """Chart, bindings and input of the run's machine; without the parts it can be looked at and replayed.

        Raises:
            ConfigError: A template or a chart that cannot be used.
        """
        settings = self.settings
        try:
            loop_prompts = Prompts.load("agent_loop", agent_loop_actors.PLACEHOLDERS, override=settings.prompts_dir)
            arbiter_prompts = Prompts.load("orchestrator", ORCHESTRATOR_PROMPTS, override=settings.prompts_dir)
        except PromptError as error:
            raise ConfigError(str(error)) from error
        ports = agent_loop_actors.AgentLoopPorts(
            provider=provider,
            toolbox=toolbox,
            workspace=workspace,
            people=UntimedPeople(self.people, self._stopwatch),
            prompts=loop_prompts,
            agents=settings.agents,
            model=self.model,
            project_instructions=settings.project_instructions,
            max_tokens=settings.max_tokens,
            context_window=lambda model: settings.context_window or context_window(model),
            out_of_time=lambda: None if self._meter is None else self._meter.out_of_time(),
        )
        machines = agent_machines(settings, agent_loop.bindings | agent_loop_actors.actors(ports))
        check_machines(settings, machines)
        if self.agent is not None:
            config = settings.agents[self.agent]
            return self._agent_alone(config, machines[config.chart])
        return self._orchestrator(
            orchestrator_actors.OrchestratorPorts(provider, self.model, arbiter_prompts, machines.__getitem__)
        )

    async def _make_actor(self, meter: MeteredProvider, toolbox: Toolbox, stores: Stores) -> Actor:
        workspace = StillWorkspace(stores.workspace) if self.is_cancel else stores.workspace
        chart, bindings, given = self.machine(meter, toolbox, workspace)
        session = Session(
            run=self.id,
            log=self.log,
            journal=stores.journal,
            notes=lambda: {**meter.notes(), **tool_notes(toolbox), **_files_noted(stores.workspace)},
            transient=agent_loop.TRANSIENT_EVENTS,
            recorded=stores.recorded or Recorded(self.id, None, ()),  # a new run finds none of its name
            monitors=agent_loop_monitors(),
        )
        session.stream.subscribe(self._watch)
        if self.observe is not None:
            session.stream.subscribe(self.observe)
        snapshot = None
        if stores.recorded is not None:
            try:
                snapshot = (await replay(stores.recorded, self.id, chart, bindings, input=given)).snapshot
            except ReplayError as error:
                raise ConfigError(f"run {self.id!r} cannot be resumed: {error}") from error
        self._resumed_from = snapshot
        return Actor(chart, bindings, input=given, session=session, snapshot=snapshot)

    def _agent_alone(self, config: AgentConfig, machine: Machine) -> Prepared:
        """One agent without an arbiter: the bound of the iterations bounds its turns, too."""
        turns = min(config.limits.turns, self.settings.max_iterations)
        limited = config.model_copy(update={"limits": config.limits.model_copy(update={"turns": turns})})
        prompt = self.task if self.continues is None and self.first_event is None else ""
        return *machine, agent_loop.agent_loop_input(limited, prompt, seed=self._seed())

    def _orchestrator(self, ports: orchestrator_actors.OrchestratorPorts) -> Prepared:
        settings = self.settings
        given = {
            "agents": {name: describe(config).to_json() for name, config in settings.agents.items()},
            "max_iterations": settings.max_iterations,
            "max_consecutive_failures": settings.max_consecutive_failures,
            "provider_name": settings.provider,
            "session_id": self.id,
            "seed": self._seed(),
        }
        bindings = orchestrator.bindings | orchestrator_actors.actors(ports)
        return load_chart(find_chart("orchestrator")), bindings, given

    def _seed(self) -> int:
        """From the run's id, so that the record of a run says all that its ids and waits depend on."""
        return int.from_bytes(self.id.encode(), "big") % 2**31

    # ------------------------------------------------------------ driving

    async def _drive(self, actor: Actor) -> None:
        """Run the machine until it ends, or until it needs a person and nobody is there."""
        self._actor = actor
        self._stopwatch.start()
        async with actor:
            if self._is_cancelled or self.is_cancel:
                actor.send("CANCEL", who=self._canceller)
            ended = asyncio.create_task(actor.run())
            asked = asyncio.create_task(self._asked.wait())
            helpers = [asyncio.create_task(help(actor)) for help in (self._begin, self._ask_again, self._read_mail)]
            try:
                await _first_of((ended, asked), helpers)
                if not ended.done():
                    await actor.settle()  # a parent is told after the observers that its agent waits
            finally:
                for task in (ended, asked, *helpers):
                    task.cancel()
                await asyncio.gather(ended, asked, *helpers, return_exceptions=True)

    async def _begin(self, actor: Actor) -> None:
        """Give the machine its task, unless it has it; a crash may have come before it took it."""
        is_told = self.agent is not None and self.continues is None and self.first_event is None
        has_task = is_told or bool(self._resumed_from and self._resumed_from["external"])  # input, or waits already
        if self._is_cancelled or self.is_cancel or has_task:
            return
        try:
            await actor.wait_for(lambda a: a.matches("idle") or not self._may_be_new(a))
        except (ActorStopped, ActorCrashed):
            return  # it ended before: whoever waits for its end is told
        if not self._may_be_new(actor):
            return
        if self.first_event is not None:
            actor.put(*self.first_event)
        elif self.continues is None:
            actor.send("START_TASK", task=self.task)
        else:
            actor.put(continuing.EVENT, await self._told(self.continues))

    def _may_be_new(self, actor: Actor) -> bool:
        """Whether the machine has not been told its task yet."""
        told = actor.context.get("messages" if self.agent is not None else "task")
        return not told and not actor.is_ended

    async def _told(self, run: str) -> dict[str, Any]:
        """What the run that this one continues leaves to it."""
        legacy = self._legacy or await self._legacy_of(run)
        if self.agent is None:
            return legacy.told_to_arbiter(self.task, self._changes)
        return legacy.told_to_agent(self.agent, self.task, self.settings, self._changes)

    async def _legacy_of(self, run: str) -> continuing.Legacy:
        record = continuing.check_followed(self.settings, run)
        followed = Run(record.settings, record.task, record.agent, id=run, is_resumed=True, continues=record.continues)
        return await continuing.legacy_of(followed, record)

    async def _changed_since(self, run: str, workspace: Any, tree: str) -> ChangedFiles | None:
        try:
            return await continuing.changes_since(run, self.settings, workspace, tree)
        except WorkspaceError as error:
            self._notes.append(f"what was changed since run {run} cannot be told: {error.message}")
            return None

    async def _read_mail(self, actor: Actor) -> None:
        """Take in what other processes have to say to this run."""
        while True:
            for letter in mail.waiting(self.settings, self.id):
                if letter.kind == "cancel":
                    self.cancel(who=letter.who)
                else:
                    self._take_answer(actor, letter)
                letter.burn()
            await asyncio.sleep(mail.POLL_S)

    def _take_answer(self, actor: Actor, letter: mail.Letter) -> None:
        """Somebody elsewhere answers what the person here is being asked."""
        for machine in tuple(actor.session.actors.values()):
            if "waiting" in machine.configuration and (question := machine.context.get("question")) is not None:
                name, data = answer_event(question["kind"], letter.text, letter.who)
                machine.put(name, data)

    async def _ask_again(self, actor: Actor) -> None:
        """A resumed agent that waits for a person asked somebody once, in vain: ask whoever is there now."""
        if not self.is_resumed or self.is_cancel:
            return
        await actor.settle()
        for machine in tuple(actor.session.actors.values()):
            if "out_of_budget" in machine.configuration:
                machine.send("RESUME")
                continue
            question = machine.context.get("question")
            if question is None or not machine.context.get("is_unattended"):
                continue
            pending = machine.context.get("open_call")
            call = None if pending is None else ToolCall.model_validate(thaw(pending["call"]))
            asked = Question(question["kind"], question["text"], machine.context.get("agent", ""), call)
            with self._stopwatch.paused():
                answer = await self._asked_person(asked)
            if answer is None:
                self._question = {**thaw(question), "agent": asked.agent}
                self._asked.set()
            else:
                name, data = answer_event(asked.kind, answer.text, answer.who)
                machine.put(name, data)

    async def _asked_person(self, question: Question) -> Answer | None:
        """The answer; a question that has been waiting goes on waiting, whatever the policy for new ones."""
        try:
            return await self.people.ask(question)
        except Unattended:
            return None

    def _watch(self, event: InspectionEvent) -> None:
        if event["type"] == "emit" and event["event"] in ("NEEDS_PERSON", "OUT_OF_BUDGET"):
            self._question = dict(event["data"])
            self._asked.set()

    def cancel(self, who: str = "") -> None:
        """Stop through the machine: tools are stopped, the workspace captured, the run recorded as cancelled."""
        self._is_cancelled = True
        self._canceller = who
        if self._actor is not None and not self._actor.is_ended:
            self._actor.send("CANCEL", who=who)

    async def kill_tools(self) -> None:
        """Kill every process of a tool at once; for somebody who cannot wait for `cancel`."""
        if self._toolbox is not None:
            await self._toolbox.aclose()

    def usage(self) -> tuple[Usage, float | None]:
        """Tokens so far and what they cost, in US dollars (None: unknown)."""
        if self._meter is None:
            return Usage(), None
        default = default_price(self.settings)
        return self._meter.total, self._meter.cost_usd(self.settings.prices, default=default)

    # ------------------------------------------------------------ closing and reporting

    async def _close(self, close: Callable[[], Awaitable[None]], what: str) -> None:
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
            self._note_skipped(snapshot.skipped)
        return str(snapshot.tree)

    def _note_skipped(self, paths: tuple[str, ...]) -> None:
        more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
        note = f"not captured: {', '.join(paths[:5])}{more}"
        if note not in self._notes:
            self._notes.append(note)

    async def _compared(self, workspace: Any, before: str | None, after: str | None) -> tuple[tuple[str, ...], str]:
        if before is None or after is None:
            return (), ""
        try:
            changes = await workspace.changes(before, after)
            diff = await workspace.diff(before, after) if changes else ""
        except WorkspaceError as error:
            self._notes.append(f"the changes cannot be shown: {error}")
            return (), ""
        return tuple(change.path for change in changes), diff

    def _report(self, actor: Actor, files: tuple[str, ...], diff: str, duration_ms: int) -> Report:
        verdict = verdict_of(actor, question=self._question, is_cancelled=self._is_cancelled)
        usage, cost = self.usage()
        return Report(
            run=self.id,
            state=verdict.state,
            outcome=verdict.outcome,
            iterations=verdict.iterations,
            usage=usage,
            cost_usd=cost,
            files_changed=files,
            summary=verdict.summary,
            error=verdict.error,
            question=self._question if verdict.outcome == "needs_person" else None,
            diff=diff,
            duration_ms=duration_ms,
            notes=tuple(self._notes),
            is_bad_input=verdict.is_bad_input and not files,
        )
