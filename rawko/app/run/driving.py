"""Driving a run's machine to its end, or to where it has to wait: for a person, a larger budget, or a disk.

What others have to say meanwhile is taken in: the user's cancel, and letters of other processes. Parts are opened and
closed by `run`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rawko.app.overrides.override import ENDED, Override, Reply
from rawko.app.overrides.steering import give
from rawko.app.run import inbox as mail
from rawko.app.run.budget import Stopwatch
from rawko.config import Settings
from rawko.interpreter.data.steps import Receipt
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.people import answer_event
from rawko.runtime.actor import Actor
from rawko.runtime.actor_parts.members import Member
from rawko.runtime.errors import ActorCrashed, ActorStopped
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.ports import Answer, People, Question, Unattended
from rawko.vocabulary.messages import ToolCall

OverrideListener = Callable[[Override, Reply], None]
"""Told of every override that came from another process, and of what became of it."""
CLEANUP: Final = "SESSION_CLEANUP"
"""What the orchestrator emits at its end: whoever runs it closes provider and tools."""
RATE_WAIT: Final = "RATE_WAIT"
"""What a machine is told while a call waits for the run's rate limit."""
QUESTION_CLOSED: Final = "another question is open"
"""The receipt of an answer whose number is not that of the open question."""
FirstWords = Callable[[], Awaitable[tuple[str, Mapping[str, Any]]]]
"""Gives the event that a machine is told once it is idle."""


@dataclass(slots=True)
class Driver:
    """Drives one machine, once.

    Args:
        run: Whose letters are read.
        told_in: Field of the context that is not empty once the machine was told its task.
        first_words: None where the machine has its task already.
        is_resumed: It may be waiting for a person who was asked once, in vain.
        is_interactive: Whenever the agent is done, the user is asked what comes next; the end of what is typed ends it.
        on_cleanup: Closes the session when the machine asks for it; awaited before the run is reported done (C-30).
        on_override: Told of overrides that others have left.
        number_of: Gives the number of the open question of a machine, by its path, from the journal.

    Attributes:
        question: What a person is asked who is not there, or what of the budget is used up.
        halted: Why the workspace cannot be recorded any more.
    """

    settings: Settings
    run: str
    people: People
    watch: Stopwatch
    told_in: str
    first_words: FirstWords | None = None
    is_resumed: bool = False
    is_interactive: bool = False
    on_cleanup: Callable[[], Awaitable[None]] | None = None
    on_override: OverrideListener | None = None
    number_of: Callable[[str], Awaitable[int | None]] | None = None
    question: dict[str, Any] | None = None
    halted: str | None = None
    is_cancelled: bool = False
    _canceller: str = ""
    _actor: Actor | None = None
    _must_wait: asyncio.Event = field(default_factory=asyncio.Event)
    _cleanup: asyncio.Future[None] | None = None
    _is_driven: asyncio.Event = field(default_factory=asyncio.Event)
    _has_read_mail: asyncio.Event = field(default_factory=asyncio.Event)

    def active_states(self) -> frozenset[str]:
        """Active states of the whole tree, for rules that name states."""
        actor = self._actor
        if actor is None:
            return frozenset()
        tree = [actor, *actor.session.actors.values()]
        return frozenset(state for one in tree for state in one.configuration)

    def contexts(self) -> list[Mapping[str, Any]]:
        """The contexts of all machines, the root's first."""
        actor = self._actor
        return [] if actor is None else [one.context for one in (actor, *_below(actor))]

    def see(self, event: InspectionEvent) -> None:
        """Watches the inspection stream for a machine that has to wait."""
        if event["type"] == "emit" and event["event"] in ("NEEDS_PERSON", "OUT_OF_BUDGET"):
            self.question = dict(event["data"])
            self._must_wait.set()
        if event["type"] == "emit" and event["event"] == CLEANUP and event["actor"] == "root" and self.on_cleanup:
            self._cleanup = asyncio.ensure_future(self.on_cleanup())

    def halt(self, why: str) -> None:
        """Stop where the machine stands: the workspace cannot be recorded any more."""
        self.halted = self.halted or why
        self._must_wait.set()

    def cancel(self, who: str = "") -> None:
        """Stop through the machine; before it has begun, as soon as it has."""
        self.is_cancelled = True
        self._canceller = who
        if self._actor is not None and not self._actor.is_ended:
            self._actor.send("CANCEL", who=who)

    def tell_wait(self, wait: Mapping[str, Any]) -> None:
        """Tell the machine that a call waits for the rate limit; a chart of the user's own need not take that."""
        actor = self._actor
        if actor is not None and not actor.is_ended and actor.interpreter.can(RATE_WAIT, **wait):
            actor.put(RATE_WAIT, wait)

    async def override(self, override: Override) -> Reply:
        """Give the machine what a person asks of it, once it has its task; what became of that."""
        await self._is_driven.wait()
        assert self._actor is not None
        try:
            await self._actor.wait_for(lambda actor: not self._may_be_new(actor))
        except (ActorStopped, ActorCrashed):
            return Reply(ENDED)
        return await give(self._actor, override)

    def stop_turn(self, who: str = "") -> bool:
        """Stop what an interactive agent does, so that the conversation goes on; False where it does nothing."""
        actor = self._actor
        if actor is None or actor.is_ended or self.is_cancelled or not actor.interpreter.can("STOP_TURN", who=who):
            return False
        actor.send("STOP_TURN", who=who)
        return True

    async def drive(self, actor: Actor) -> None:
        """Run the machine until it ends, or until it has to wait."""
        self._actor = actor
        self._is_driven.set()
        self.watch.start()
        async with actor:
            if self.is_cancelled:
                actor.send("CANCEL", who=self._canceller)
            ended = asyncio.create_task(actor.run())
            waits = asyncio.create_task(self._must_wait.wait())
            steps = (self._begin, self._ask_again, self._read_mail, self._converse)
            helpers = [asyncio.create_task(help(actor)) for help in steps]
            try:
                await _first_of((ended, waits), helpers)
                if not ended.done() and self.halted is None:
                    await actor.settle()  # a parent is told after the observers that its agent waits
            finally:
                for task in (ended, waits, *helpers):
                    task.cancel()
                await asyncio.gather(ended, waits, *helpers, return_exceptions=True)
                if self._cleanup is not None:
                    await self._cleanup
                if actor.interpreter.final:
                    self._refuse_overrides()

    async def _begin(self, actor: Actor) -> None:
        """Give the machine its task, unless it has it; a crash may have come before it took it."""
        if self.is_cancelled or self.first_words is None:
            return
        try:
            await actor.wait_for(lambda a: a.matches("idle") or not self._may_be_new(a))
        except (ActorStopped, ActorCrashed):
            return  # it ended before: whoever waits for its end is told
        if self._may_be_new(actor):
            actor.put(*await self.first_words())

    def _may_be_new(self, actor: Actor) -> bool:
        """Whether the machine has not been told its task yet."""
        return not actor.context.get(self.told_in) and not actor.is_ended

    # ------------------------------------------------------------ people

    async def _read_mail(self, actor: Actor) -> None:
        """Take in what other processes have to say to this run."""
        while True:
            for letter in mail.waiting(self.settings, self.run):
                if letter.kind == "cancel":
                    self.cancel(who=letter.who)
                elif (override := letter.override) is None:
                    await self._take_answer(actor, letter)
                elif self._may_be_new(actor):
                    continue  # it waits until the machine has its task
                else:
                    letter.reply(reply := await give(actor, override))
                    if self.on_override is not None:
                        self.on_override(override, reply)
                letter.burn()
            self._has_read_mail.set()
            await asyncio.sleep(mail.POLL_S)

    def _refuse_overrides(self) -> None:
        """The machine is done: what was left for it too late is told so."""
        for letter in mail.overrides_waiting(self.settings, self.run):
            letter.reply(Reply(ENDED))
            letter.burn()

    async def _take_answer(self, actor: Actor, letter: mail.Letter) -> None:
        """Give the machine that waits the answer of another process; one to an earlier question is refused."""
        is_taken = False
        for machine in tuple(actor.session.actors.values()):
            if letter.question is not None and not await self._asks(machine, letter.question):
                continue
            if "waiting" in machine.configuration and (question := machine.context.get("question")) is not None:
                name, data = answer_event(question["kind"], letter.text, letter.who)
                machine.put(name, data)
                is_taken = True
        if letter.question is not None:
            letter.reply(Reply(Receipt.TAKEN.value if is_taken else QUESTION_CLOSED, tuple(actor.configuration)))

    async def _asks(self, machine: Member, number: int) -> bool:
        """Whether the machine's open question has that number."""
        seen = machine.last_step
        found = None if self.number_of is None else await self.number_of(machine.path)
        return found == number and machine.last_step is seen

    async def _ask_again(self, actor: Actor) -> None:
        """Ask again for what an agent of the resumed run has waited for since before: a person's answer, or a budget.

        An agent that has come to wait in this process was refused with the budget and the people of now.
        """
        if not self.is_resumed:
            return
        await self._has_read_mail.wait()  # an override may end the waiting
        await actor.settle()
        for machine in tuple(actor.session.actors.values()):
            if _has_moved(machine):
                continue
            if "out_of_budget" in machine.configuration:
                machine.send("RESUME")
                continue
            question = machine.context.get("question")
            if question is None or not machine.context.get("is_unattended"):
                continue
            pending = machine.context.get("open_call")
            call = None if pending is None else ToolCall.model_validate(thaw(pending["call"]))
            asked = Question(question["kind"], question["text"], machine.context.get("agent", ""), call)
            with self.watch.paused():
                is_answered, answer = await self._asked_until_answered(asked, machine)
            if is_answered:
                continue
            if answer is None:
                self.question = {**thaw(question), "agent": asked.agent}
                self._must_wait.set()
            else:
                name, data = answer_event(asked.kind, answer.text, answer.who)
                machine.put(name, data)

    async def _asked_until_answered(self, asked: Question, machine: Member) -> tuple[bool, Answer | None]:
        """Ask the person here, until another process has answered; whether one has, and the answer."""
        question = machine.context.get("question")
        asking = asyncio.ensure_future(self._asked_person(asked))
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=mail.POLL_S)
                if machine.is_ended or machine.context.get("question") != question:
                    return True, None
            return False, asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

    async def _converse(self, actor: Actor) -> None:
        """Ask the user for the next message whenever the agent is idle, until there is none (C-20)."""
        if not self.is_interactive:
            return
        try:
            if self.first_words is not None:
                await actor.wait_for(lambda a: not self._may_be_new(a))
            while True:
                await actor.wait_for("idle")
                asked = Question("message", "", actor.context.get("agent", ""))
                with self.watch.paused():
                    answer = await self._asked_person(asked)
                if answer is None:
                    await actor.request("END", who="")
                    return
                await actor.request("USER_MESSAGE", content=answer.text, who=answer.who)
        except (ActorStopped, ActorCrashed):
            return  # it ended otherwise

    async def _asked_person(self, question: Question) -> Answer | None:
        """The answer; a question that has been waiting goes on waiting, whatever the policy for new ones."""
        try:
            return await self.people.ask(question)
        except Unattended:
            return None


def _has_moved(actor: Member) -> bool:
    """Whether the machine has taken an event in this process; a restored one stands where it was left."""
    return actor.last_step is not None and actor.last_step.event is not None


def _below(actor: Actor) -> Iterator[Actor]:
    for child in actor.children.values():
        yield child
        yield from _below(child)


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
