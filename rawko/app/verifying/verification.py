"""Checks a recorded run with monitors: its rows are replayed once, in the charts that they were recorded with.

No model is asked, no tool is run, nothing is changed; the run may be running. Memory grows with the number of machines,
not with the run's length. For a fork, the monitors start with what they remember of its original.
"""

from __future__ import annotations

from collections.abc import Sequence

from rawko.app.records.outcomes import is_open
from rawko.app.records.rows import Line
from rawko.app.time_travel.recorded_run import Past, open_past
from rawko.app.verifying.verdicts import MonitorVerdict, RecordedObjection, Verdict, Verification
from rawko.config import ConfigError, Settings
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.runtime.replay.replay import ReplayError
from rawko.runtime.replay.rewind_records import jump_of
from rawko.runtime.replay.watching import Found, Memory, WatchedReplay


async def verify_run(run: str, current: Settings, monitors: Sequence[Monitor]) -> Verification:
    """Check a run of the current folder.

    Monitors of one name have one verdict: several agents may have the same one. A monitor of agents that did not work
    in the run has none.

    Raises:
        ConfigError: There is no such run, or its journal cannot be read.
    """
    async with open_past(run, current) as past:
        seen = await _Check(past, current, monitors).go(past.last)
        line = Line(past.record.rewinds)
        found = [_verdict(monitor, past, line, seen) for monitor in {one.name: one for one in monitors}.values()]
        general = {monitor.name for monitor in monitors if not monitor.given}
        verdicts = tuple(
            one for one in found if one.machines or one.monitor in general or one.verdict is not Verdict.VACUOUS
        )
        return Verification(run, past.last, verdicts, tuple(seen.notes))


async def remembered_by(run: str, current: Settings, monitors: Sequence[Monitor]) -> Memory:
    """The monitors' memory of all steps of a run that is about to be resumed.

    Raises:
        ConfigError: Its journal cannot be read.
    """
    async with open_past(run, current) as past:
        seen = await _Check(past, current, monitors).go(past.last)
        return {} if seen.replay is None else seen.replay.memory()


class _Check:
    """The check of one run.

    Attributes:
        notes: What is unknown about the steps before the run's first.
        problem: Why the rows were not replayed to the end.
        earlier: Objections in the runs that this one was forked from.
    """

    def __init__(self, past: Past, current: Settings, monitors: Sequence[Monitor]) -> None:
        self._past = past
        self._current = current
        self._monitors = monitors
        self.notes: list[str] = []
        self.problem = ""
        self.earlier: list[Found] = []
        self.replay: WatchedReplay | None = None

    async def go(self, until: int) -> _Check:
        """Replay the rows until a step."""
        past = self._past
        try:
            before = await self._of_parent() if past.last else (0.0, {})
            keep = {step for _, step in past.record.rewinds}
            self.replay = WatchedReplay(past.record.run, past.fresh(), self._monitors, before=before, keep=keep)
            async for record in past.rows(0, until):
                self.replay.step(record)
        except ReplayError as error:
            self.problem = str(error)
        return self

    async def _of_parent(self) -> tuple[float, Memory]:
        """The time and the monitors' memory before the first row."""
        first = await self._past.row(1)
        jump = jump_of(first)
        if jump is None or jump.kind != "fork":
            return (0.0, {})
        try:
            async with open_past(jump.run, self._current) as past:
                seen = await _Check(past, self._current, self._monitors).go(jump.step)
        except ConfigError as error:
            self.notes.append(f"what was before its first step is not known: {error}")
            return (0.0, {})
        self.notes += seen.notes
        if seen.problem or seen.replay is None:
            self.notes.append(f"what was before its first step is not known: {seen.problem}")
            return (0.0, {})
        line = Line([(row, step) for row, step in past.record.rewinds if row <= jump.step])
        self.earlier += [*seen.earlier, *(one for one in seen.replay.found if not line.leaves_behind(one.step))]
        return seen.replay.time, seen.replay.memory()


def _verdict(monitor: Monitor, past: Past, line: Line, seen: _Check) -> MonitorVerdict:
    name, replay = monitor.name, seen.replay
    told = [RecordedObjection(one) for one in seen.earlier if one.monitor == name]
    owed: list[tuple[str, str]] = []
    machines, is_bound = 0, bool(told)
    if replay is not None:
        told += [RecordedObjection(one, line.leaves_behind(one.step)) for one in replay.found if one.monitor == name]
        owed = [(path, state) for path, of, state in replay.owed() if of == name]
        machines, is_bound = replay.machines.get(name, 0), is_bound or name in replay.bound
    standing = [one.found for one in told if not one.is_undone]
    problem = seen.problem or next((one.problem for one in standing if one.problem), "")
    if any(one.objection is not None for one in standing):
        verdict = Verdict.VIOLATED
    elif problem:
        verdict = Verdict.UNDETERMINED
    elif owed and is_open(past.record):
        verdict = Verdict.OPEN
    elif not is_bound:
        verdict = Verdict.VACUOUS
    else:
        verdict = Verdict.HOLDS
    return MonitorVerdict(name, verdict, machines, tuple(told), tuple(owed), problem)
