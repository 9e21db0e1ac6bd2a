"""A worker: claims tasks while it has free slots, runs each in a process of its own, beats, and lets go on a signal.

Processes, not tasks of one loop: a run that takes all memory or crashes ends alone, a frozen one is ended by its
number, and a tool that blocks keeps no other run waiting. They are forked from a process that has loaded the modules.

    TERM, Ctrl-C    no more claims; each run stops where it stands and is released; the worker exits within 10 s
    a second one    the same at once: the processes are killed, their runs go on elsewhere from their latest step
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Any, Final
from uuid import uuid4

from rawko.app.records.journal import URL_VARIABLE as JOURNAL_URL
from rawko.fleet.dbos_queue.sessions import session_name
from rawko.fleet.engine import Claim
from rawko.fleet.errors import FleetError
from rawko.fleet.fleet import Fleet
from rawko.fleet.records import TaskRecord
from rawko.fleet.working.entry import begin, do_nothing
from rawko.fleet.working.hosts import end_earlier, host_id, started_at
from rawko.fleet.working.order import ALIVE, DRAIN, FENCED, Order, Progress, Result, Said, Taken
from rawko.workspace.packs.opening import URL_VARIABLE as PACKS_URL

BEAT_S: Final = 0.5
CLAIM_S: Final = 0.3
_BEAT_MOST_S: Final = 1.0
"""Half of the time after which a worker whose session has ended counts as dead."""
_CLAIM_MOST_S: Final = 5.0
BEATS_PER_S: Final = 1_000.0
CLAIMS_PER_S: Final = 30.0
"""All workers of a fleet together beat, and ask in vain for tasks, so often at most; see `pace_s`."""
SIGN_S: Final = 1.0
ANNOUNCE_S: Final = 5.0
DRAIN_S: Final = 8.0
"""After so long a process that should have stopped is killed: the worker is gone within 10 s."""
_AWAY_MOST_S: Final = 5.0
_RETRY_MOST_S: Final = 60.0
_WAITING_S: Final = 1.0
"""A run that was let go of because it waits for something is not claimed again at once."""
_PRELOADED: Final = ["rawko.fleet.working.preloaded"]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works.

    Attributes:
        folder: Of the workspaces of its runs.
        environ: Of rawko, with the model's keys; runs get it.
        is_sandboxed: Commands of every run are confined, whatever the task says.
        is_once: End when there is nothing left to be claimed.
    """

    queues: Sequence[str]
    slots: int
    folder: Path
    environ: Mapping[str, str]
    is_sandboxed: bool = False
    is_once: bool = False


@dataclass(slots=True)
class _Attempt:
    """A run at work here."""

    claim: Claim
    task: TaskRecord
    process: ForkServerProcess
    pipe: Connection
    steps: int
    place: dict[str, Any]
    result: Result | None = None
    is_lost: bool = False
    is_told: bool = False
    is_over: bool = False
    given: set[int] = field(default_factory=set)


def pace_s(workers: int, usual_s: float, together_per_s: float, most_s: float) -> float:
    """The time between two questions of one worker, in seconds: longer where there are many workers.

    9 workers that ask each 0.3 s ask 30 times a second; 90 of them ask each 3 s for the same.
    """
    return min(max(usual_s, workers / together_per_s), most_s)


def worker_name() -> str:
    """A name of its own for each worker: machine, process, chance."""
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid4().hex[:6]}"


class Worker:
    """One worker of a fleet.

    Args:
        tell: Gets a line for people now and then.
    """

    def __init__(self, fleet: Fleet, options: WorkerOptions, tell: Callable[[str], None]) -> None:
        self.name = worker_name()
        self._fleet, self._options, self._tell = fleet, options, tell
        self._context = multiprocessing.get_context("forkserver")
        self._attempts: list[_Attempt] = []
        self._signals = 0
        self._drained_at: float | None = None
        self._next = dict.fromkeys(("beat", "claim", "sign", "announce"), 0.0)
        self._away_s = 0.0
        self._living = 1
        self._is_idle = False
        self._loading = threading.Thread(target=self._load, name="loading", daemon=True)
        self._refusal: FleetError | None = None
        self._taken: list[int] = []

    def run(self) -> None:
        """Work until a signal, or until there is nothing left where `is_once` says so.

        Raises:
            FleetError: The database refuses this worker for good.
        """
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        self._context.set_forkserver_preload(_PRELOADED)
        self._loading.start()
        try:
            while not self._is_done():
                self._turn()
            self._leave()
            if self._refusal is not None:
                raise self._refusal
        finally:
            for attempt in self._attempts:
                attempt.process.kill()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _load(self) -> None:
        """Wait until the process that runs are forked from has loaded the modules. Nothing is claimed before: the lease
        of a run could end meanwhile on a busy machine."""
        with suppress(OSError, EOFError):  # what is wrong, the first run's process tells
            first = self._context.Process(target=do_nothing, name="load", daemon=True)
            first.start()
            first.join()

    def _is_done(self) -> bool:
        if self._attempts:
            return False
        return self._drained_at is not None or (self._options.is_once and self._is_idle)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _turn(self) -> None:
        now = time.monotonic()
        if self._signals and self._drained_at is None:
            self._drained_at = now
            for attempt in self._attempts:
                self._send(attempt, DRAIN)
            self._tell(f"no more tasks; {len(self._attempts)} runs stop where they stand")
        if self._drained_at is not None and (self._signals > 1 or now - self._drained_at > DRAIN_S):
            for attempt in self._attempts:
                attempt.process.kill()
        if now >= self._next["sign"]:
            self._next["sign"] = now + SIGN_S
            for attempt in self._attempts:
                self._send(attempt, ALIVE)
        self._hear(0.05 if self._attempts else 0.1)
        if now >= self._next["beat"]:
            self._next["beat"] = now + pace_s(self._living, BEAT_S, BEATS_PER_S, _BEAT_MOST_S)
            self._reach(self._speak)
        if now >= self._next["announce"] and not self._away_s:
            self._next["announce"] = now + ANNOUNCE_S
            self._reach(self._announce)
        is_open = (
            self._drained_at is None and not self._loading.is_alive() and len(self._attempts) < self._options.slots
        )
        if is_open and now >= self._next["claim"] and not self._away_s:
            # Not all of them at the same moments, and a slot that becomes free asks at once (`_ended`).
            pause_s = pace_s(self._living, CLAIM_S, CLAIMS_PER_S, _CLAIM_MOST_S)
            self._next["claim"] = now + pause_s * random.uniform(0.9, 1.1)
            self._reach(self._claim)

    def _reach(self, call: Callable[[], None]) -> None:
        """Do something with the database; one that is away is tried again, and what is to be told it is kept."""
        try:
            call()
        except FleetError as error:
            if not error.is_retryable:
                if self._refusal is not None or not self._attempts:
                    raise
                self._refuse(error)
                return
            if not self._away_s:
                self._tell(f"{error}; trying again until it answers")
            self._away_s = min(max(self._away_s * 2, BEAT_S), _AWAY_MOST_S)
            self._next["beat"] = time.monotonic() + self._away_s
        else:
            if self._away_s:
                self._tell("the database answers again")
            self._away_s = 0.0

    def _refuse(self, error: FleetError) -> None:
        """The database is not for this worker any more: its runs stop where they stand, and it ends."""
        self._refusal = error
        self._tell(f"{error}; this worker ends")
        self._signals = max(self._signals, 1)

    # ------------------------------------------------------------ with the database

    def _announce(self) -> None:
        self._living = self._fleet.announce(self.name, self._options.queues, self._options.slots)

    def _speak(self) -> None:
        while self._taken:
            self._fleet.burn(self._taken[0])
            del self._taken[0]
        living = [attempt for attempt in self._attempts if not attempt.is_lost]
        steps = {one.claim.run: (one.steps, one.place) for one in living}
        held, letters = self._fleet.beat(self.name, [one.claim for one in living], steps)
        for attempt in living:
            if attempt.claim not in held and attempt.result is None:
                attempt.is_lost = True
                self._tell(f"run {attempt.claim.run}: another worker has it now")
                self._send(attempt, FENCED)
            for letter in letters:
                if letter.run == attempt.claim.run and letter.id not in attempt.given:
                    attempt.given.add(letter.id)
                    self._send(attempt, letter)
        for attempt in tuple(self._attempts):
            if not attempt.process.is_alive():
                self._ended(attempt)

    def _claim(self) -> None:
        free = self._options.slots - len(self._attempts)
        found = self._fleet.claim(self.name, self._options.queues, free)
        is_asked = self._options.is_once and not found and not self._attempts
        self._is_idle = is_asked and not self._fleet.has_waiting(self._options.queues)
        for claim, task in found:
            self._begin(claim, task)

    def _ended(self, attempt: _Attempt) -> None:
        """Note what became of an attempt whose process has ended; it stays here until the database knows."""
        self._hear_of(attempt)
        result = attempt.result or Result("failed", reason=_how_ended(attempt.process.exitcode))
        if attempt.result is None and self._drained_at is not None:
            result = Result("again")
        if result.kind in ("failed", "hopeless") and self._is_outdated():
            result = Result("again")
        if not attempt.is_lost:
            self._note(attempt, result)
        self._attempts.remove(attempt)
        self._next["claim"] = 0.0
        attempt.process.join()
        attempt.pipe.close()

    def _is_outdated(self) -> bool:
        """Whether a newer rawko has changed the tables, which a run must not be blamed for."""
        if self._refusal is None:
            try:
                self._fleet.check()
            except FleetError as error:
                if error.is_retryable:
                    raise
                self._refuse(error)
        return self._refusal is not None

    def _note(self, attempt: _Attempt, result: Result) -> None:
        claim = attempt.claim
        told: dict[str, Any] = {"steps": attempt.steps}
        if attempt.place.get("state"):
            told["place"] = attempt.place
        match result.kind:
            case "ended" | "waiting" | "hopeless":
                state = {"ended": "ended", "waiting": "waiting", "hopeless": "dead"}[result.kind]
                is_ours = self._fleet.end(
                    claim,
                    self.name,
                    state=state,  # type: ignore[arg-type]  # one of the states
                    outcome=result.outcome or state,
                    report=None if result.report is None else dict(result.report),
                    reason=result.reason or None,
                    **told,
                )
                line = f"{result.outcome or state}{f': {result.reason}' if result.reason else ''}"
            case "again":
                delay_s = _WAITING_S if result.reason else 0.0
                is_ours = self._fleet.give_back(claim, self.name, waits_for=result.reason, delay_s=delay_s, **told)
                line = f"released after {attempt.steps} steps{f': {result.reason}' if result.reason else ''}"
            case "left":
                release = str(attempt.task.release)
                is_ours = self._fleet.give_back(
                    claim, self.name, waits_for=result.reason, keep_for=release, delay_s=_WAITING_S, **told
                )
                line = f"left to a worker of rawko {release}: {result.reason}"
            case "failed":
                delay_s = min(2.0**attempt.task.failures, _RETRY_MOST_S)
                is_ours = self._fleet.give_back(claim, self.name, reason=result.reason, delay_s=delay_s, **told)
                line = f"failed: {result.reason}"
        self._tell(f"run {claim.run}: {line if is_ours else 'another worker has it now'}")

    def _leave(self) -> None:
        try:
            self._fleet.leave(self.name)
        except FleetError as error:
            self._tell(f"{error}; the others see in a moment that this worker is gone")

    # ------------------------------------------------------------ with processes

    def _begin(self, claim: Claim, task: TaskRecord) -> None:
        if task.state == "running" and end_earlier(task.place):
            self._tell(f"run {claim.run}: the process of an earlier attempt was still there, and is ended")
        letters = self._fleet.letters([claim.run])
        here, there = self._context.Pipe()
        order = Order(
            claim.run,
            claim.tenant,
            task.task,
            str(self._options.folder / "workspaces"),
            task.steps,
            task.place,
            self._environ(),
            self._options.is_sandboxed,
            tuple(letters),
            task.release if task.has_begun else None,
        )
        process = self._context.Process(target=begin, args=(order, there), name=claim.run, daemon=True)
        process.start()
        there.close()
        place = dict(task.place or {}) | {
            "host": host_id(),
            "pid": process.pid,
            "started": started_at(process.pid or 0),
        }
        attempt = _Attempt(claim, task, process, here, task.steps, place)
        attempt.given |= {letter.id for letter in letters}
        self._attempts.append(attempt)
        self._next["beat"] = 0.0  # where its process is, is to be known before anything happens
        how = f"goes on after step {task.steps}" if task.steps else "begins"
        self._tell(f"run {claim.run}: {how} ({claim.queue}, {claim.tenant})")

    def _environ(self) -> Mapping[str, str]:
        """With the fleet's database as the journal of the runs, and as the store of their packs where no other one is
        named; their sessions have this worker's name."""
        named = self._fleet.url.update_query_dict({"application_name": session_name(self.name)})
        url = named.render_as_string(hide_password=False)
        return {PACKS_URL: url, **self._options.environ, JOURNAL_URL: url}

    def _hear(self, timeout_s: float) -> None:
        by_pipe = {attempt.pipe: attempt for attempt in self._attempts if not attempt.is_told}
        by_end = {attempt.process.sentinel: attempt for attempt in self._attempts if not attempt.is_over}
        if not by_pipe and not by_end:
            time.sleep(timeout_s)
            return
        for ready in wait([*by_pipe, *by_end], timeout_s):
            if isinstance(ready, int):
                by_end[ready].is_over = True
                self._next["beat"] = 0.0  # which finds out what became of it, and makes room for the next run
            else:
                self._hear_of(by_pipe[ready])  # type: ignore[index]  # only these pipes were waited for

    def _hear_of(self, attempt: _Attempt) -> None:
        """Read what a run's process has said."""
        try:
            while attempt.pipe.poll():
                message = attempt.pipe.recv()
                match message:
                    case Progress():
                        attempt.steps = max(attempt.steps, message.steps)
                        if message.state is not None:
                            attempt.place |= {"workspace": message.workspace, "state": message.state}
                            if message.release is not None:
                                attempt.place["release"] = message.release
                            self._next["beat"] = 0.0
                    case Taken():
                        self._taken.append(message.letter)
                    case Said():
                        self._tell(f"run {attempt.claim.run}: {message.line}")
                    case Result():
                        attempt.result = message
                        self._next["beat"] = 0.0
        except (EOFError, OSError):
            attempt.is_told = True  # it says no more; what it ends with is seen by the beat
            self._next["beat"] = 0.0

    @staticmethod
    def _send(attempt: _Attempt, message: object) -> None:
        try:
            attempt.pipe.send(message)
        except OSError:
            pass  # it has ended


def _how_ended(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"its process was ended by signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"its process was ended by signal {-code}"
    return f"its process ended with code {code}, and without a word"
