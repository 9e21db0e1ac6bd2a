"""`runs`, `log` and `show`: what there is, and what happened."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from rawko.app.exploration.listing import Listed, list_explorations
from rawko.app.exploration.record import is_exploration
from rawko.app.records.addresses import Address
from rawko.app.records.history import last_steps, steps_of
from rawko.app.records.record import RunRecord, list_records, read_record
from rawko.app.records.rows import Line, cause_of, decision_of
from rawko.app.recovery.reading import DAMAGED, problems
from rawko.app.run.inbox import outcome_now
from rawko.app.time_travel.recorded_run import open_past
from rawko.cli.explore.listing import exploration_line, print_exploration, print_exploration_log
from rawko.cli.output import Painter, complain, nobody_reads, visible_json, visible_line
from rawko.cli.runs.notices import tell_finished, tell_lost
from rawko.cli.settings import settings_here
from rawko.config import ConfigError, Settings
from rawko.cutting import cut
from rawko.runtime.journal import StepRecord
from rawko.runtime.replay.rewind_records import jump_of
from rawko.vocabulary.shown_states import shown_states

_TASK_CHARS = 60


def runs_command(*, as_json: bool) -> int:
    """One line per run, with where it comes from and where it went, and one per exploration, with where it stands."""
    damaged: list[str] = []
    try:
        current = settings_here()
        records = list_records(current, damaged)
        explorations = list_explorations(current)
        broken = asyncio.run(problems(records, current))
    except ConfigError as error:
        return complain(str(error))
    for problem in damaged:
        complain(f"not listed: {problem}")
    found: list[RunRecord | Listed] = sorted([*records, *explorations], key=lambda one: one.run)
    try:
        for one in found:
            if as_json:
                told = _run_json(one, records, broken) if isinstance(one, RunRecord) else one.to_json()
                print(visible_json(told))
            else:
                print(_run_line(one, current, broken) if isinstance(one, RunRecord) else exploration_line(one))
    except BrokenPipeError:
        return nobody_reads()
    if not found and not damaged and not as_json:
        print("no runs of this folder yet")
    return 0


def _run_json(record: RunRecord, records: Sequence[RunRecord], broken: Mapping[str, str]) -> dict[str, object]:
    forks = [other.run for other in records if other.parent is not None and other.parent.run == record.run]
    return {
        "run": record.run,
        "kind": "run",
        "outcome": DAMAGED if record.run in broken else outcome_now(record),
        "problem": broken.get(record.run),
        "agent": record.agent,
        "task": record.task,
        "workspace": str(record.settings.workspace),
        "parent": None if record.parent is None else record.parent.to_json(),
        "forks": forks,
        "continues": record.continues,
        "rewinds": [{"row": row, "step": step} for row, step in record.rewinds],
    }


def _run_line(record: RunRecord, current: Settings, broken: Mapping[str, str]) -> str:
    told = list(_relations(record))
    outcome = DAMAGED if record.run in broken else outcome_now(record)
    if record.run in broken:
        told.insert(0, broken[record.run])
    if record.settings.workspace != current.workspace:
        told.append(f"in {record.settings.workspace}")
    more = f"  ({'; '.join(told)})" if told else ""
    head = visible_line(f"{record.run}  {outcome:<12}")
    return f"{head}  {_short(record.task)}{visible_line(more)}"


def _relations(record: RunRecord) -> Iterator[str]:
    if record.parent is not None:
        yield f"fork of {record.parent.run}@{record.parent.step}"
    if record.continues is not None:
        yield f"continues {record.continues}"
    if record.rewinds:
        times = f", {len(record.rewinds)} times" if len(record.rewinds) > 1 else ""
        yield f"rewound to {record.rewinds[-1][1]}{times}"


# ---------------------------------------------------------------- log


def log_command(run: str, *, is_whole: bool, as_json: bool, last: int | None = None) -> int:
    """One line per committed step."""
    try:
        asyncio.run(_print_log(run, is_whole=is_whole, as_json=as_json, last=last))
    except ConfigError as error:
        return complain(str(error))
    except BrokenPipeError:
        return nobody_reads()
    return 0


async def _print_log(run: str, *, is_whole: bool, as_json: bool, last: int | None) -> None:
    current = settings_here()
    if is_exploration(current.state_dir, run):
        print_exploration_log(current, run, as_json=as_json, last=last)
        return
    await tell_finished(run, current)
    record = read_record(run, current)
    try:
        await tell_lost(run, current)
    except ConfigError as error:  # its snapshots, or it could not be read at all, as is told below
        complain(str(error))
    line = Line(record.rewinds)
    paint = Painter(sys.stdout)
    async for step in steps_of(record.settings, run) if last is None else last_steps(record.settings, run, last):
        is_left = line.leaves_behind(step.seq)
        if as_json:
            print(visible_json({**without_machines(step), "is_left_behind": is_left}))
        elif is_whole or not _is_talk(step):
            print(paint(row_line(step, is_left), "dim") if is_left else row_line(step, is_left))


def without_machines(step: StepRecord) -> dict[str, object]:
    """The row; what a rewind holds of the machines is not for reading."""
    told = asdict(step)
    if jump_of(step) is not None:
        told["event"]["data"].pop("snapshot", None)
    return told


def _is_talk(step: StepRecord) -> bool:
    """Text as it arrives, step by step: the message that it becomes says the same."""
    return step.event is not None and step.event["name"] == "TEXT_DELTA"


def row_line(step: StepRecord, is_left: bool) -> str:
    """A row in one line; `is_left`: a rewind has left it behind."""
    receipt = "" if step.receipt in (None, "taken") else f"  ({step.receipt})"
    when = datetime.fromtimestamp(step.time).strftime("%H:%M:%S")
    states = " ".join(shown_states(step.configuration))
    mark = "~" if is_left else " "
    jump = jump_of(step)
    kept = f"  before: snapshot {jump.safety[:7]}" if jump is not None and jump.safety else ""
    told = f"{receipt}  [{decision}]{kept}" if (decision := decision_of(step)) else f"{receipt}{kept}"
    return visible_line(f"{step.seq:>5}{mark} {when}  {step.actor:<20}  {cause_of(step):<28}  {states}{told}")


def _short(task: str) -> str:
    return cut(visible_line(" ".join(task.split())), _TASK_CHARS, "…")


# ---------------------------------------------------------------- show


def show_command(address: str, *, as_json: bool, bindings: str | None = None) -> int:
    """A step with everything about it; a run's summary where no step is named."""
    from rawko.app.records.overview import overview
    from rawko.app.time_travel.explain import explain
    from rawko.cli.runs.show import print_explanation, print_overview

    async def show() -> None:
        place = Address.parse(address)
        current = settings_here(bindings=bindings)
        if is_exploration(current.state_dir, place.run):
            print_exploration(current, address, as_json=as_json)
            return
        await tell_finished(place.run, current)
        async with open_past(place.run, current) as past:
            if place.place is None:
                told = await overview(past)
                print(visible_json(told.to_json())) if as_json else print_overview(told)
                return
            explanation = await explain(past, await past.step(place.place))
            if as_json:
                print(visible_json(explanation.to_json()))
            else:
                print_explanation(explanation, sys.stdout)

    try:
        asyncio.run(show())
    except ConfigError as error:
        return complain(str(error))
    except BrokenPipeError:
        return nobody_reads()
    return 0
