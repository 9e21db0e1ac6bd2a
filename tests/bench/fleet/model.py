"""How large a fleet can be: a simulation of its slots, processors and database, from figures that were measured.

python -m tests.bench.fleet.model            # the tables of docs/fleet.md
python -m tests.bench.fleet.model --check    # beside what was measured
python -m tests.bench.fleet.model --workers 200 --runs 50000 --turns 40 --answer 12

A run waits for a slot, starts, and then takes its turns: the model answers, the worker's processor works, the journal's
rows and the pack are committed. Processors and database are stations where one waits for the one before:

    slots ──> start ──> model (all at once) ──> processors (cores) ──> database (commits per second) ─┐
                                 ^────────────────────── next turn ────────────────────────────────────┘

Beats and questions for tasks take their share of the database before any run does. Nothing is drawn by chance: the same
figures give the same tables.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

FIGURES: Final = Path(__file__).with_name("figures.json")
DAY_S: Final = 86_400
_MOST_USED: Final = 0.7
"""Of a processor or a database, at which one adds more: beyond it waits grow without bound."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one run, one worker, and one PostgreSQL.

    Attributes:
        run_cpu_s, turn_cpu_s: Processor time of a worker for the beginning and end of a run, and for each turn.
        run_server_cpu_s, turn_server_cpu_s: The same of PostgreSQL.
        run_commits, turn_commits: Transactions; `turn_rows` of them are rows of the journal.
        run_bytes, turn_bytes: By which the database grows.
        idle_commits_per_s: Of a worker without a run; `workers_pace`: with so many workers each one asks half as often.
        worker_connections, run_connections: Sessions that a worker holds, and each of its runs.
        commit_s: How long one client waits for a commit; `commits_per_s`: of as many clients as it takes (fsync on).
    """

    run_cpu_s: float
    turn_cpu_s: float
    run_server_cpu_s: float
    turn_server_cpu_s: float
    run_commits: float
    turn_commits: float
    turn_rows: float
    run_bytes: float
    turn_bytes: float
    idle_commits_per_s: float
    claim_commits: float
    worker_connections: int
    run_connections: int
    commit_s: float
    commits_per_s: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """What there is, and what it has to do.

    Attributes:
        cores: Processors of all workers together.
        runs_per_day: That come; None: there are always runs that wait.
        turns: Calls of a tool of a run; the model is asked once more than that.
        answer_s: What the model takes.
    """

    workers: int
    slots: int
    cores: float
    turns: int
    answer_s: float
    runs_per_day: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the simulation says.

    Attributes:
        runs_per_s: That ended, once the fleet was at work.
        run_s: From the start of a run to its end, and `wait_s` in the queue before.
        at_once: Runs at work, on average.
        used: How much of each was used, from 0 to 1.
    """

    runs_per_s: float
    run_s: float
    wait_s: float
    at_once: float
    used: Mapping[str, float]


class Station:
    """Servers that take one after the other, in the order in which they come.

    Three services of 2 s that come at 0 to one server end at 2, 4 and 6; to two servers at 2, 2 and 4. A part of a
    server (1.5) makes all of them slower by as much.
    """

    def __init__(self, servers: float) -> None:
        count = max(1, int(servers))
        self._slower = count / servers
        self._free = [0.0] * count
        self._servers = servers
        self.busy_s = 0.0

    def end(self, now_s: float, service_s: float) -> float:
        """When a service that comes now ends; those before it have come earlier."""
        first = heapq.heappop(self._free)
        end_s = max(now_s, first) + service_s * self._slower
        heapq.heappush(self._free, end_s)
        self.busy_s += service_s
        return end_s

    def used(self, seconds: float) -> float:
        return min(1.0, self.busy_s / seconds / self._servers)


def idle_commits_per_s(figures: Figures, workers: int) -> float:
    """Commits of all workers beside their runs: beats, and questions for tasks, which get fewer as workers get more."""
    from rawko.fleet.working import loop as at_work

    beat_s = at_work.pace_s(workers, at_work.BEAT_S, at_work.BEATS_PER_S, 1.0)
    claim_s = at_work.pace_s(workers, at_work.CLAIM_S, at_work.CLAIMS_PER_S, 5.0)
    claims = figures.claim_commits / at_work.CLAIM_S
    beats = figures.idle_commits_per_s - claims
    return workers * (beats * at_work.BEAT_S / beat_s + claims * at_work.CLAIM_S / claim_s)


@dataclass(slots=True)
class _Run:
    """A run at work: when it came and began, and which turn it is in; -1: it starts."""

    came_s: float
    begun_s: float = 0.0
    turn: int = -1


class _Simulation:
    """The events of one fleet, in the order of their times."""

    def __init__(self, fleet: Fleet, figures: Figures, commits_per_s: float, *, shares_cores: bool) -> None:
        self._fleet, self._figures, self._shares_cores = fleet, figures, shares_cores
        self._commits_per_s = commits_per_s
        self.processors, self.database = Station(fleet.cores), Station(1)
        self._free = fleet.workers * fleet.slots
        self._queue: deque[_Run] = deque()
        self._events: list[tuple[float, int, str, _Run]] = []
        self._count = 0
        self.ended: list[tuple[float, _Run]] = []

    def add(self, at_s: float, what: str, run: _Run) -> None:
        self._count += 1  # of events at the same time, the one that was added first
        heapq.heappush(self._events, (at_s, self._count, what, run))

    def carry_on(self, until_s: float) -> None:
        """Carry out all events until then."""
        while self._events and self._events[0][0] <= until_s:
            now_s, _, what, run = heapq.heappop(self._events)
            getattr(self, what)(now_s, run)

    def comes(self, now_s: float, run: _Run) -> None:
        self._queue.append(run)
        self._begin(now_s)

    def _begin(self, now_s: float) -> None:
        while self._free and self._queue:
            self._free -= 1
            run = self._queue.popleft()
            run.begun_s = now_s
            self.answered(now_s, run)

    def answered(self, now_s: float, run: _Run) -> None:
        """The model has answered, or the run starts: the worker's processor has to work."""
        one = self._figures
        own_s, server_s = (
            (one.run_cpu_s, one.run_server_cpu_s) if run.turn < 0 else (one.turn_cpu_s, one.turn_server_cpu_s)
        )
        self.add(self.processors.end(now_s, own_s + (server_s if self._shares_cores else 0.0)), "worked", run)

    def worked(self, now_s: float, run: _Run) -> None:
        commits = self._figures.run_commits if run.turn < 0 else self._figures.turn_commits
        kept_s = self.database.end(now_s, commits / self._commits_per_s) + commits * self._figures.commit_s
        self.add(kept_s, "kept", run)

    def kept(self, now_s: float, run: _Run) -> None:
        run.turn += 1
        if run.turn <= self._fleet.turns:  # the last call of the model ends the run
            self.add(now_s + self._fleet.answer_s, "answered", run)
            return
        self.ended.append((now_s, run))
        self._free += 1
        if self._fleet.runs_per_day is None:
            self._queue.append(_Run(now_s))
        self._begin(now_s)


@cache
def simulate(fleet: Fleet, figures: Figures, *, shares_cores: bool = False) -> Outcome:
    """Carry out the runs of a while in thought; what happens in its second half counts.

    Args:
        shares_cores: The database is on the processors of the workers, as where this was measured.
    """
    left = figures.commits_per_s - idle_commits_per_s(figures, fleet.workers)
    if left <= 0:
        return Outcome(0.0, math.inf, math.inf, 0.0, {"slots": 0.0, "processors": 0.0, "commits": 1.0})
    simulated = _Simulation(fleet, figures, left, shares_cores=shares_cores)
    slots = fleet.workers * fleet.slots
    usual_s = alone_s(fleet, figures)
    if fleet.runs_per_day is None:
        seconds = (6 if slots > 100 else 30) * max(usual_s, slots * _work_s(fleet, figures) / fleet.cores)
        for number in range(slots):  # one after the other, not all at once
            simulated.add(usual_s * number / slots, "comes", _Run(usual_s * number / slots))
    else:
        gap_s = DAY_S / fleet.runs_per_day
        seconds = max(4 * usual_s, 40 * gap_s)
        for number in range(int(seconds / gap_s)):
            simulated.add(gap_s * number, "comes", _Run(gap_s * number))
    simulated.carry_on(seconds)
    counted = [(end_s, run) for end_s, run in simulated.ended if end_s > seconds / 2]
    per_s = len(counted) / (seconds / 2)
    run_s = sum(end_s - run.begun_s for end_s, run in counted) / len(counted) if counted else math.inf
    wait_s = sum(run.begun_s - run.came_s for _, run in counted) / len(counted) if counted else math.inf
    at_once = per_s * run_s if counted else float(slots)
    used = {
        "slots": min(1.0, at_once / slots),
        "processors": simulated.processors.used(seconds),
        "commits": 1 - (1 - simulated.database.used(seconds)) * left / figures.commits_per_s,
    }
    return Outcome(per_s, run_s, wait_s, at_once, used)


def alone_s(fleet: Fleet, figures: Figures) -> float:
    """How long a run takes that waits for no other one."""
    commits = figures.run_commits + (fleet.turns + 1) * figures.turn_commits
    return _work_s(fleet, figures) + (fleet.turns + 1) * fleet.answer_s + commits * figures.commit_s


def _work_s(fleet: Fleet, figures: Figures) -> float:
    """Processor time of a run on its worker."""
    return figures.run_cpu_s + (fleet.turns + 1) * figures.turn_cpu_s


# ---------------------------------------------------------------- what is needed, and what is too much first


@dataclass(frozen=True, slots=True)
class Needs:
    """What a fleet needs, and how much of it its runs use.

    Attributes:
        workers: That are enough for the runs, with slots used to `_MOST_USED`.
        connections: Of workers and of runs at work.
    """

    workers: int
    at_once: float
    cores: float
    server_cores: float
    connections: int
    commits_per_s: float
    rows_per_s: float
    gb_per_day: float


def needs(runs_per_day: float, slots: int, turns: int, answer_s: float, figures: Figures) -> Needs:
    """What so many runs a day need."""
    one = Fleet(1, slots, 1.0, turns, answer_s, runs_per_day)
    per_s, calls = runs_per_day / DAY_S, turns + 1
    at_once = per_s * alone_s(one, figures)
    workers = max(1, math.ceil(at_once / slots / _MOST_USED))
    return Needs(
        workers,
        at_once,
        per_s * _work_s(one, figures) / _MOST_USED,
        per_s * (figures.run_server_cpu_s + calls * figures.turn_server_cpu_s) / _MOST_USED,
        math.ceil(workers * figures.worker_connections + at_once * figures.run_connections),
        per_s * (figures.run_commits + calls * figures.turn_commits) + idle_commits_per_s(figures, workers),
        per_s * calls * figures.turn_rows,
        runs_per_day * (figures.run_bytes + calls * figures.turn_bytes) / 1e9,
    )


def most_workers(slots: int, turns: int, answer_s: float, figures: Figures, connections: int) -> Mapping[str, int]:
    """By resource: how many workers with all slots at work it carries."""
    one = Fleet(1, slots, 1.0, turns, answer_s)
    per_s = slots / alone_s(one, figures)  # runs of one worker
    calls = turns + 1
    of_runs = per_s * (figures.run_commits + calls * figures.turn_commits)
    workers = 1
    while workers * of_runs + idle_commits_per_s(figures, workers) <= figures.commits_per_s * _MOST_USED:
        workers += 1
    return {
        "connections": int(connections / (figures.worker_connections + slots * figures.run_connections)),
        "commits": workers - 1,
    }


# ---------------------------------------------------------------- tables


def read() -> tuple[Figures, Sequence[Mapping[str, Any]], str]:
    """The figures, the measured points, and where they were taken."""
    told = json.loads(FIGURES.read_text("utf-8"))
    return Figures(**told["figures"]), told["points"], str(told["taken"])


def modelled_s(point: Mapping[str, Any], figures: Figures) -> float:
    """How long the runs of a measured point take, as the model has it.

    The database of the points does not wait for the disk. Their processors are those that the fleet got of a machine
    that others used, too.
    """
    own = replace(figures, commit_s=point["commit_s"], commits_per_s=1e9)
    fleet = Fleet(point["workers"], point["slots"], point["cores"], point["steps"] // 2, point["answer_s"])
    outcome = simulate(fleet, own, shares_cores=True)
    return float(point["runs"] / outcome.runs_per_s)


def sizing(figures: Figures, *, slots: int = 4, turns: int = 25, answer_s: float = 10.0) -> str:
    """What 1,000 to 100,000 runs a day need, as Markdown."""
    lines = ["| runs a day | runs at work | workers of 4 slots | their cores | PostgreSQL's cores | connections "]
    lines[0] += "| commits/s | journal rows/s | GB a day |"
    lines.append("|---:|" * 1 + "---:|" * 8)
    for runs in (1_000, 10_000, 30_000, 100_000):
        one = needs(runs, slots, turns, answer_s, figures)
        cells = [f"{runs:,}", f"{one.at_once:.0f}", f"{one.workers}", f"{one.cores:.1f}", f"{one.server_cores:.1f}"]
        cells += [f"{one.connections:,}", f"{one.commits_per_s:.0f}", f"{one.rows_per_s:.0f}", f"{one.gb_per_day:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def at_full(figures: Figures, *, slots: int = 4, turns: int = 25, cores_each: float = 2.0) -> str:
    """What workers with all slots at work do, simulated, as Markdown."""
    lines = [
        "| workers | an answer takes | runs a day | connections | commits/s | used of the database | first too small |"
    ]
    lines.append("|---:|---:|---:|---:|---:|---:|---|")
    for answer_s in (3.0, 10.0):
        for workers in (10, 100, 1_000):
            fleet = Fleet(workers, slots, workers * cores_each, turns, answer_s)
            outcome = simulate(fleet, figures)
            connections = workers * (figures.worker_connections + slots * figures.run_connections)
            commits = outcome.runs_per_s * (figures.run_commits + (turns + 1) * figures.turn_commits)
            commits += idle_commits_per_s(figures, workers)
            used = outcome.used["commits"]
            first = "commits" if used > _MOST_USED else "connections" if connections > _USUAL_CONNECTIONS else "–"
            cells = [f"{workers:,}", f"{answer_s:.0f} s", f"{outcome.runs_per_s * DAY_S:,.0f}", f"{connections:,}"]
            lines.append("| " + " | ".join([*cells, f"{commits:,.0f}", f"{100 * used:.0f} %", first]) + " |")
    return "\n".join(lines)


_USUAL_CONNECTIONS: Final = 500
"""More sessions than that cost PostgreSQL more than they bring: each is a process of its own."""


def checked(figures: Figures, points: Sequence[Mapping[str, Any]]) -> str:
    """The model beside what was measured, as Markdown."""
    lines = ["| workers | runs | an answer takes | measured | model |", "|---:|---:|---:|---:|---:|"]
    for point in points:
        cells = [str(point["workers"]), str(point["runs"]), f"{point['answer_s']:g} s", f"{point['seconds']:.0f} s"]
        lines.append("| " + " | ".join([*cells, f"{modelled_s(point, figures):.0f} s"]) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fleet.model", description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="the model beside what was measured")
    parser.add_argument("--workers", type=int, help="one fleet of so many workers")
    parser.add_argument("--slots", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--cores", type=float, default=2.0, help="of each worker (default: %(default)s)")
    parser.add_argument("--runs", type=float, help="a day (default: as many as it can)")
    parser.add_argument("--turns", type=int, default=25, help="calls of a tool of a run (default: %(default)s)")
    parser.add_argument("--answer", type=float, default=10.0, help="seconds of the model (default: %(default)s)")
    parser.add_argument("--commits", type=float, help="that your PostgreSQL makes in a second (default: as measured)")
    parser.add_argument(
        "--connections", type=int, default=_USUAL_CONNECTIONS, help="that it has (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if min(options.slots, options.turns, options.cores, options.workers or 1, options.runs or 1) <= 0:
        parser.error("accepted are numbers above 0")
    figures, points, taken = read()
    if options.commits:
        figures = replace(figures, commits_per_s=options.commits)
    if options.check:
        print(checked(figures, points))
    elif options.workers:
        cores = options.workers * options.cores
        fleet = Fleet(options.workers, options.slots, cores, options.turns, options.answer, options.runs)
        outcome = simulate(fleet, figures)
        most = most_workers(options.slots, options.turns, options.answer, figures, options.connections)
        print(
            f"{outcome.runs_per_s * DAY_S:,.0f} runs a day, {outcome.at_once:.0f} at work, each {outcome.run_s:.0f} s"
        )
        print("used: " + ", ".join(f"{name} {100 * used:.0f} %" for name, used in outcome.used.items()))
        print("workers with all slots at work, until it is too small: ", end="")
        print(", ".join(f"{name} {count:,}" for name, count in sorted(most.items(), key=lambda one: one[1])))
    else:
        print(f"{taken}\n\n{sizing(figures)}\n\n{at_full(figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
