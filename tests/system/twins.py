"""An actor in asyncio and a system to which the same things happen: what one writes to its journal the other does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from rawko import Actor, ActorFailed, SimulatedClock
from rawko.interpreter import thaw
from rawko.interpreter.data.effects import StopInvocation
from rawko.runtime.journal import MemoryJournal, StepRecord, record_of
from rawko.runtime.session import Session
from rawko.system import (
    Asked,
    ChildEnded,
    Completed,
    External,
    Failed,
    Member,
    StepTaken,
    System,
    Turn,
    Undelivered,
    Until,
    Yielded,
    advance,
    enabled,
    initial,
    post,
    settle,
    snapshot,
    transition,
)
from tests.system.families import INPUT, Family

RUN = "run"
ERROR = {"category": "unknown", "message": "it went wrong"}


class Jobs:
    """The async function that machines invoke: it goes on until it is told its end."""

    def __init__(self) -> None:
        self.running: dict[tuple[str, str, int], tuple[asyncio.Future[Any], Any]] = {}

    async def job(self, input: Any, scope: Any) -> Any:
        key = (scope._owner.path, scope.id, scope.number)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.running[key] = (future, scope)
        try:
            return await future
        finally:
            del self.running[key]


class Twins:
    """Both of them.

    Attributes:
        system: As after the latest command.
        past: Every system on the way.
        rows: Of the journal that were compared.
        in_order: Commands in which the system has taken its turns by itself in the actor's order.
    """

    def __init__(self, family: Family) -> None:
        self.jobs = Jobs()
        self.journal = MemoryJournal()
        self.bindings = family.bindings(self.jobs.job)
        self.family = family
        session = Session(run=RUN, journal=self.journal, log=lambda *_: None)
        self.actor = Actor(family.chart, self.bindings, input=INPUT, clock=SimulatedClock(), session=session)
        self.system: System | None = None
        self.past: list[System] = []
        self.rows = 0
        self.in_order = 0
        self.is_exact = True
        self._heard: list[Any] = []
        self.actor.inspect(lambda news: self._heard.append(news) if news["type"] == "undelivered" else None)

    async def begin(self) -> bool:
        """Start both; whether they are alive."""
        self.actor.start()
        await self.actor.settle()
        try:
            self.system, effects = initial(self.family.chart, self.bindings, input=INPUT)
        except Exception as error:  # noqa: BLE001 - the actor must have had the same
            assert type(error) is type(self.actor.error), (error, self.actor.error)
            return False
        return await self._compare(list(effects), None)

    async def do(self, what: str, place: int, event: str) -> bool:
        """One command for both; whether they are alive."""
        system = self.system
        assert system is not None
        machines = [path for path in system if not system[path].is_ended]
        path = machines[place % len(machines)]
        flying = enabled(system).in_flight
        if what in ("send", "both"):
            for _ in range(1 if what == "send" else 2):
                self._member(path).send(event)
                system = post(system, External(event, {}, path))
        elif what == "advance":
            await self.actor.advance(place / 1000)
            return await self._compare([], place / 1000)
        elif flying:
            one = flying[place % len(flying)]
            future, scope = self.jobs.running[one.path, one.id, one.invocation.number]
            news: Completed | Failed | Yielded
            if what == "done":
                future.set_result({"count": 1})
                news = one.completes({"count": 1})
            elif what == "failed":
                future.set_exception(ActorFailed(ERROR))
                news = one.fails(ERROR)
            else:
                scope.send_parent(event, n=1)
                news = one.yields(event, n=1)
            system = post(system, news)
        self.system = system
        await self.actor.settle()
        return await self._compare([], None)

    def _member(self, path: str) -> Any:
        found: Any = self.actor
        for id in path.split("/")[1:]:
            found = found.children[id]
        return found

    # ------------------------------------------------------------ comparing

    async def _compare(self, begun: list[Any], seconds: float | None) -> bool:
        rows = (await self.journal.rows(RUN))[self.rows :]
        self.rows += len(rows)
        heard, self._heard = self._heard, []
        assert self.system is not None
        before = self.system
        settled: tuple[System, list[Any]] | None = None
        try:
            after, more = settle(before) if seconds is None else advance(before, seconds)
            settled = after, [*begun, *more]
        except Exception as error:  # noqa: BLE001 - the actor must have had the same
            assert self.actor.error is not None, error
            assert type(error) is type(self.actor.error), (error, self.actor.error)
        fed, found = self.feed(rows[1:] if begun else rows)
        effects = [*begun, *found]
        self.same_rows(effects, rows)
        if self.actor.error is not None or settled is None:
            assert settled is None, self.actor.error
            return False
        if seconds is not None:
            fed, more = transition(fed, Until(max(settled[0].time, fed.time)))
        fed, more = settle(fed)
        assert not [one for one in more if isinstance(one, StepTaken)], "the actor has not done it"
        told = [(one["actor"], one["to"], one["event"], one["reason"]) for one in heard]
        lost = [(one.path, one.to, one.event, one.reason) for one in effects if isinstance(one, Undelivered)]
        assert sorted(one for one in told if one[:2] != ("root", "parent")) == sorted(lost)
        assert plain(snapshot(fed)) == plain(self.actor.snapshot())
        self.is_exact = self.is_exact and not _is_held_up(settled[1])
        if self.is_exact:
            self.same_rows(settled[1], rows)
            assert timeless(snapshot(settled[0])) == timeless(self.actor.snapshot())
            fed = settled[0]
            self.in_order += 1
        self.system = fed
        self.past.append(fed)
        return not fed.is_done

    def same_rows(self, effects: list[Any], rows: Any) -> None:
        """The steps among the effects are those of the rows: configuration, updates, effects, receipt."""
        taken = [
            replace(record_of(one.step, run=RUN, seq=0, epoch=0, actor=one.path), run="")
            for one in effects
            if isinstance(one, StepTaken)
        ]
        wanted = [replace(row, run="", seq=0, epoch=0, notes=None) for row in rows]
        assert taken == wanted

    def feed(self, rows: Any) -> tuple[System, list[Any]]:
        """The system after the steps of some rows, one transition each."""
        system, found = self.system, list[Any]()
        assert system is not None
        for row in rows:
            if row.time > system.time:
                system, effects = transition(system, Until(row.time))
                assert effects == ()
            for path in self._ended_before(system, row):
                while path in system:
                    system, effects = _failed_within(system, path)
                    found += effects
                    self.past.append(system)
            system = _brought_first(system, row)
            system, effects = transition(system, Turn(row.actor))
            found += effects
            self.past.append(system)
        return system, found

    def _ended_before(self, system: System, row: StepRecord) -> list[str]:
        """The child machine whose end the row is."""
        name = "" if row.event is None else row.event["name"]
        for prefix in ("done.invoke.", "error.invoke."):
            path = f"{row.actor}/{name.removeprefix(prefix)}"
            if name.startswith(prefix) and path in system and not _is_timeout(row):
                return [path]
        return []


def _failed_within(system: System, path: str) -> tuple[System, Any]:
    """One more turn of a machine, or of one below it, of which no row tells: it fails, or has ended and tells so."""
    within = [one for one in enabled(system).turns if f"{one.path}/".startswith(f"{path}/")]
    for turn in reversed(within):
        after, effects = transition(system, turn)
        if not any(isinstance(one, StepTaken) for one in effects):
            return after, effects
    raise AssertionError(f"{path} does not end: {within}")


def _is_timeout(row: StepRecord) -> bool:
    error = None if row.event is None else row.event["data"].get("error")
    return isinstance(error, dict) and error.get("category") == "timeout" and error.get("code") == "timeout"


def _brought_first(system: System, row: StepRecord) -> System:
    """The system in which the message that a row has consumed is the first one, if it waits: the actor may have been
    told an end, or an answer after something was stopped, earlier or later."""
    member = system[row.actor]
    state, wanted = member.state, row.event
    if wanted is None or any(one.due <= system.time and one.event == wanted["name"] for one in state.timers):
        return system
    for place, (_, _, event) in enumerate(state.queue):
        if event.name == wanted["name"] and thaw(event.data) == wanted["data"]:
            rest = (*state.queue[:place], *state.queue[place + 1 :])
            queue = ((state.queue[0][0], -1, event), *rest)
            return _with(system, row.actor, member.changed(state._replace(queue=queue), member.inbox))
    for place, one in enumerate(member.inbox):
        name = {"done": f"done.invoke.{one.id}", "error": f"error.invoke.{one.id}"}.get(one.kind, one.event)
        data = {"done": {"output": one.data}, "error": {"error": one.data}}.get(one.kind, one.data)
        running = member.invocations.get(one.id or "")
        is_live = one.id is None or (running is not None and running.number == one.number)
        if is_live and name == wanted["name"] and thaw(data) == wanted["data"]:
            inbox = (one, *member.inbox[:place], *member.inbox[place + 1 :])
            later = tuple((system.time, state.seq + 1000 + n, event) for n, (_, _, event) in enumerate(state.queue))
            return _with(system, row.actor, member.changed(state._replace(queue=later), inbox))
    return system


def _with(system: System, path: str, member: Member) -> System:
    return replace(system, machines={**system.machines, path: member})


def _is_held_up(effects: list[Any]) -> bool:
    """Whether something was stopped: what the actor starts next then waits in the loop until that has ended."""
    return any(
        (isinstance(one, ChildEnded) and one.how == "stopped")
        or (isinstance(one, Asked) and isinstance(one.effect, StopInvocation))
        or (isinstance(one, StepTaken) and any(isinstance(e, StopInvocation) for e in one.step.effects))
        for one in effects
    )


def plain(data: Any) -> Any:
    """A snapshot without the counter of what was sent, which tells nothing but the order."""
    found = {**timeless(data), "seq": 0}
    found["external"] = [[time, kind, name, payload] for time, _, kind, name, payload in data["external"]]
    found["timers"] = [[due, "send" if id.startswith("send.") else id, *rest] for due, _, id, *rest in data["timers"]]
    found["children"] = {id: plain(below) for id, below in data["children"].items()}
    return found


def timeless(data: Any) -> Any:
    """A snapshot; of machines that have finished without the time, which an actor does not look at any more."""
    children = {id: timeless(below) for id, below in data["children"].items()}
    return {**data, "children": children, "now": None if data["done"] else data["now"]}
