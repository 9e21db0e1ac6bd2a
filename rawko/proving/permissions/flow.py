"""Follows untrusted content through a chart: from an agent that reads it to one that writes outside.

The places of the search are explored configurations, with the running agents and where untrusted content is:

    executing: researcher           no untrusted content anywhere
      researcher reads with mcp     its conversation contains it
    evaluating                      the agent has ended: its output in the run's history contains it
    executing: publisher            its prompt is made from the history: its conversation contains it
      publisher writes with bash    without a person's approval: found

A conversation begins with the outputs of all earlier agents. More content enters it by the agent's own tools, and from
files that other agents have written. The search thus never misses a real flow; it may report one that cannot happen,
because an agent's output need not contain what the agent has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Final

from rawko.proving.exploring.compiled import TAKEN, Label
from rawko.proving.exploring.exploration import Exploration
from rawko.proving.outcomes import Outcome
from rawko.proving.permissions.places import ALONE, ActAtPlace, Calls, Does, Flow, Place, Worker
from rawko.proving.permissions.powers import Act, ChartAgents, InvocationAgents, Powers
from rawko.proving.system import Move

MAX_PLACES: Final = 4_000_000
_By = tuple[int, ActAtPlace | int | None]
"""(number of the place before, or -1; the act, or the number of the edge, that led here)."""


class Flows:
    """The search for a flow.

    Attributes:
        is_cut: There are more than MAX_PLACES places.
    """

    def __init__(self, found: Exploration, casting: ChartAgents) -> None:
        self._found = found
        self._casting = casting
        bits = found.system.step.bit
        self._agents = {id: bits[id] for id, cast in casting.by_invocation.items() if cast.kind == "agents"}
        self._tools = sum(bits[id] for id, cast in casting.by_invocation.items() if cast.kind == "tools")
        self._several = sum(bits[id] for id in casting.several_calls)
        self._commands = [(bits[id], act) for id, act in casting.commands.items()]
        self._casts: dict[str, InvocationAgents] = {
            id: cast for id, cast in casting.by_invocation.items() if cast.kind == "agents"
        }
        alone = [cast for cast in casting.by_invocation.values() if cast.kind == "tools"]
        if alone:
            self._casts[ALONE] = alone[0]
        self._tool_ids = [(bits[id], id) for id, cast in casting.by_invocation.items() if cast.kind == "tools"]
        self._running: dict[int, int] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        self._powers: dict[tuple[str, str, tuple[str, ...], bool], Powers] = {}
        self._seen: dict[Place, _By] = {}
        self._places: list[Place] = []
        self._merge()
        self.is_cut = False

    def __len__(self) -> int:
        return len(self._places)

    def search(self) -> Flow | None:
        """A shortest flow; None where there is none, or none within MAX_PLACES."""
        for place in self._starts():
            self._add(place, (-1, None))
        for number, place in enumerate(self._places):  # grows during the loop
            for does, act, after in self._acts(place):
                placed = ActAtPlace(does, act)
                if after is None:
                    return self._told(number, placed)
                self._add(after, (number, placed if act.tool else None))
            for edge, after in self._steps(place):
                self._add(after, (number, edge))
            if len(self._places) > MAX_PLACES:
                self.is_cut = True
                return None
        return None

    # ------------------------------------------------------------ running agents

    def _merge(self) -> None:
        """Keep one of all agents with equal powers in every state: the first one."""
        numbers = range(len(self._found))
        every: set[tuple[str, ...]] = {self._relevant(number) for number in numbers}
        profiles: dict[tuple[str, str], tuple[tuple[bool, ...], ...]] = {}
        for id, cast in self._casts.items():
            asked = [id] if id != ALONE else [tool for _, tool in self._tool_ids]
            groups: dict[frozenset[tuple[tuple[bool, ...], ...]], tuple[str, ...]] = {}
            for group in cast.groups:
                members: dict[tuple[tuple[bool, ...], ...], str] = {}
                for agent in group:
                    profile = profiles.get((id, agent))
                    if profile is None:
                        profile = profiles[id, agent] = tuple(
                            self._of(tool, agent, names, alone).profile
                            for tool in asked
                            for names in sorted(every)
                            for alone in (True, False)
                        )
                    members.setdefault(profile, agent)
                groups.setdefault(frozenset(members), tuple(members.values()))
            self._casts[id] = replace(cast, groups=tuple(groups.values()))

    def _relevant(self, number: int) -> tuple[str, ...]:
        """Active states on which powers may depend."""
        places = self._casting.places
        if places is not None and not places:
            return ()
        found = self._names.get(number)
        if found is None:
            names = self._found.names(number)
            found = self._names[number] = names if places is None else tuple(n for n in names if n in places)
        return found

    def _of(self, invocation: str, agent: str, names: tuple[str, ...], is_alone: bool) -> Powers:
        key = (invocation, agent, names, is_alone)
        found = self._powers.get(key)
        if found is None:
            found = self._powers[key] = self._casting.powers(*key)
        return found

    def _running_in(self, number: int) -> int:
        found = self._running.get(number)
        if found is None:
            found = self._running[number] = self._found.state(number).running
        return found

    def _begun(self, ids: list[str], is_tainted: bool) -> Iterator[tuple[Worker, ...]]:
        """All combinations of agents with which invocations can begin."""
        choices = [
            [
                Worker(id, group, agent, is_tainted)
                for group, members in enumerate(self._casts[id].groups)
                for agent in members
            ]
            for id in ids
        ]
        return product(*choices)

    # ------------------------------------------------------------ steps of the chart

    def _starts(self) -> Iterator[Place]:
        found = self._found
        for number in range(len(found)):
            if found.before[number] >= 0:
                break
            running = self._running_in(number)
            ids = [id for id, bit in self._agents.items() if running & bit]
            for workers in self._begun([*ids, *([ALONE] if ALONE in self._casts else [])], False):
                yield Place(number, workers)

    def _steps(self, place: Place) -> Iterator[tuple[int, Place]]:
        found = self._found
        number = place.number
        if number >= found.expanded:
            return
        for edge in range(found.offsets[number], found.offsets[number + 1]):
            label = found.kinds[found.labels[edge]]
            for after in self._after(place, found.targets[edge], label):
                yield edge, after

    def _after(self, place: Place, target: int, label: Label) -> Iterator[Place]:
        move, outcome = label.move, label.outcome
        gone = outcome.stopped
        if move.kind in ("done", "error"):
            gone |= self._found.system.step.bit[move.subject]
        kept = tuple(one for one in place.workers if one.invocation == ALONE or not gone & self._agents[one.invocation])
        said = place.said or any(one.is_tainted for one in place.workers if one not in kept)
        written, call = place.written, place.call
        if self._casting.is_called_by_tool and outcome.started & self._several and call == "used":
            return
        begun = [id for id, bit in self._agents.items() if outcome.started & bit]
        if outcome.started & self._tools:
            call = "approved" if self._found.system.is_persons(move) else "free"
        if not place.workers and self._approves(move) and label.flags & TAKEN:
            said = written = False
        for workers in self._begun(begun, said):
            yield Place(target, tuple(sorted((*kept, *workers))), said, written, call)

    def _approves(self, move: Move) -> bool:
        name = move.event if move.kind == "event" else move.subject if move.kind == "done" else ""
        return name in self._casting.approvals

    # ------------------------------------------------------------ acts within a configuration

    def _acts(self, place: Place) -> Iterator[tuple[Does, Act, Place | None]]:
        """The acts possible at a place: effect, act and place afterwards; None: the act writes outside."""
        names, running = self._relevant(place.number), self._running_in(place.number)
        if place.written:
            for bit, act in self._commands:
                if running & bit:
                    yield "runs files", act, None
        for index, worker in enumerate(place.workers):
            for invocation, calls in self._acting(place, worker, running):
                powers = self._of(invocation, worker.agent, names, len(place.workers) == 1)
                yield from self._acts_of(place, index, powers, calls)
            yield from self._turns(place, index, worker)

    def _acting(self, place: Place, worker: Worker, running: int) -> Iterator[tuple[str, Calls]]:
        """The invocations in which an agent can use its tools now, each with the possible calls."""
        if worker.invocation != ALONE:
            yield worker.invocation, Calls()
            return
        for bit, id in self._tool_ids:
            if running & bit and id in self._casting.several_calls:
                yield id, Calls()
            elif running & bit and place.call != "used":
                yield id, Calls(place.call == "free", place.call == "approved", is_one=True)

    def _acts_of(
        self, place: Place, index: int, powers: Powers, calls: Calls
    ) -> Iterator[tuple[Does, Act, Place | None]]:
        worker = place.workers[index]
        after = place._replace(call="used") if calls.is_one else place
        if worker.is_tainted:
            if powers.writes_outside is not None and calls.are_free:
                yield "writes", powers.writes_outside, None
            if powers.writes_files is not None and calls.are_free and not place.written:
                yield "writes files", powers.writes_files, after._replace(written=True)
        elif (reading := self._reading(place, index, powers, calls)) is not None:
            does, act = reading
            workers = list(place.workers)
            workers[index] = worker._replace(is_tainted=True)
            yield does, act, (place if does == "is told" else after)._replace(workers=tuple(workers))
        if place.written and powers.runs_files is not None:
            yield "runs files", powers.runs_files, None

    @staticmethod
    def _reading(place: Place, index: int, powers: Powers, calls: Calls) -> tuple[Does, Act] | None:
        """How untrusted content can enter a conversation that contains none yet."""
        if powers.told is not None:
            return "is told", powers.told
        if powers.reads is not None and calls.are_free:
            return "reads", powers.reads
        if powers.asked_reads is not None and calls.may_ask:
            return "reads", powers.asked_reads
        if place.written and powers.reads_files is not None:
            return "reads files", powers.reads_files
        others = any(one.is_tainted for other, one in enumerate(place.workers) if other != index)
        if powers.reads_reports is not None and (place.said or others):
            return "reads reports", powers.reads_reports
        return None

    def _turns(self, place: Place, index: int, worker: Worker) -> Iterator[tuple[Does, Act, Place]]:
        """Another agent of the group takes its turn; the earlier agent's output is then known to it."""
        group = self._casts[worker.invocation].groups[worker.group]
        said = place.said or worker.is_tainted
        for agent in group:
            if agent != worker.agent:
                workers = list(place.workers)
                workers[index] = worker._replace(agent=agent, is_tainted=said)
                act = Act(agent, "", "")
                yield "takes over", act, place._replace(workers=tuple(sorted(workers)), said=said)

    # ------------------------------------------------------------ the path

    def _add(self, place: Place, by: _By) -> None:
        if place not in self._seen:
            self._seen[place] = by
            self._places.append(place)

    def _told(self, number: int, last: ActAtPlace) -> Flow:
        found = self._found
        steps: list[int | ActAtPlace | None] = []
        numbers = [number]
        while numbers[-1] >= 0:
            before, by = self._seen[self._places[numbers[-1]]]
            steps.append(by)
            numbers.append(before)
        places = [self._places[one] for one in reversed(numbers) if one >= 0]
        start = places[0].number
        way: list[tuple[Move, Outcome]] = list(found.way_to(start))
        acts: list[tuple[int, ActAtPlace]] = []
        for by, place, before_place in zip(reversed(steps[:-1]), places[1:], places, strict=False):
            if isinstance(by, int):
                label = found.kinds[found.labels[by]]
                source, target = found.state(before_place.number), found.state(place.number)
                way.append((label.move, found.outcome_of(source, target, label)))
            elif by is not None:
                acts.append((len(way), by))
        acts.append((len(way), last))
        return Flow(tuple(way), tuple(acts), found.names(places[-1].number))
