"""`runs`, `log`, `resume`, `answer`, `approve`, `deny`: runs that are there already."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from datetime import datetime

from rawko.app import Run
from rawko.app.history import steps_of
from rawko.app.record import RunRecord, list_records, read_record
from rawko.cli.output import complain, visible
from rawko.cli.run import current_folder, execute
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.runtime.journal import StepRecord
from rawko.runtime.ports import Answer, Question
from rawko.vocabulary.documents import accepted

_SCOPES = ("once", "tool", "always")
_TASK_CHARS = 60


class _OneAnswer:
    """Somebody who has said one thing, and is not there for a second question."""

    def __init__(self, text: str) -> None:
        self._text: str | None = text

    async def ask(self, question: Question) -> Answer | None:
        text, self._text = self._text, None
        return None if text is None else Answer(text, who=os.environ.get("USER") or "user")


def resume_command(run: str, *, answer: str | None, yes: bool, as_json: bool, quiet: bool) -> int:
    """Go on with a run; `answer` is for the question that it asks. Returns the exit code."""
    try:
        record = read_record(run, _settings(yes=yes))
    except ConfigError as error:
        return complain(str(error))
    problem = _why_not(record, answer)
    if problem:
        return complain(problem)
    going = Run(record.settings, record.task, agent=record.agent, id=record.run, is_resumed=True)
    people = None if answer is None else _OneAnswer(answer)
    return execute(going, as_json=as_json, quiet=quiet, people=people)


def approve_command(run: str, scope: str, *, as_json: bool) -> int:
    """Say yes to the call that a run asks about."""
    if scope not in _SCOPES:
        return complain(f"--scope: {scope!r}{accepted(_SCOPES, found=scope)}")
    return resume_command(run, answer=scope, yes=False, as_json=as_json, quiet=False)


def _settings(*, yes: bool = False) -> Settings:
    """Settings of the folder as it is now; what a run was started with comes from its record."""
    environ = {**os.environ, "RAWKO_PROVIDER": "anthropic"}
    return load_settings(current_folder(), Flags(assume_yes=yes), environ)


def _why_not(record: RunRecord, answer: str | None) -> str:
    if record.outcome not in ("interrupted", "needs_person"):
        return f"run {record.run!r} has ended ({record.outcome}); start a new one"
    if answer is None:
        return ""
    if not answer.strip():
        return "the answer is empty"
    if record.outcome != "needs_person":
        return f"run {record.run!r} asks nothing (it was interrupted); go on with: rawko resume {record.run}"
    return ""


def runs_command(*, as_json: bool) -> int:
    """One line per run."""
    try:
        records = list_records(_settings())
    except ConfigError as error:
        return complain(str(error))
    for record in records:
        if as_json:
            data = {"run": record.run, "outcome": record.outcome, "agent": record.agent, "task": record.task}
            print(json.dumps(data, ensure_ascii=False))
        else:
            print(f"{record.run}  {record.outcome:<12}  {_short(record.task)}")
    if not records and not as_json:
        print("no runs of this folder yet")
    return 0


def log_command(run: str, *, is_whole: bool, as_json: bool) -> int:
    """One line per committed step."""
    try:
        record = read_record(run, _settings())
        steps = asyncio.run(steps_of(record.settings, run))
    except ConfigError as error:
        return complain(str(error))
    for step in steps:
        if as_json:
            print(json.dumps(asdict(step), ensure_ascii=False))
        elif is_whole or not _is_talk(step):
            print(_line(step))
    return 0


def _is_talk(step: StepRecord) -> bool:
    """Text as it arrives, step by step: the message that it becomes says the same."""
    return step.event is not None and step.event["name"] == "TEXT_DELTA"


def _line(step: StepRecord) -> str:
    name = _cause(step)
    receipt = "" if step.receipt in (None, "taken") else f"  ({step.receipt})"
    when = datetime.fromtimestamp(step.time).strftime("%H:%M:%S")
    states = " ".join(step.configuration[1:])
    return visible(f"{step.seq:>5}  {when}  {step.actor:<20}  {name:<28}  {states}{receipt}")


def _cause(step: StepRecord) -> str:
    """What a step is about: its event, or why it has none."""
    if step.event is not None:
        return str(step.event["name"])
    starts = [effect for effect in step.effects if effect["type"] == "start"]
    if starts and all(effect["attempt"] > 1 or effect["resumed"] for effect in starts):
        return "(resumed)"
    if step.effects and all(effect["type"] == "send" for effect in step.effects):
        return "(a delayed send)"
    return "(start)"


def _short(task: str) -> str:
    line = visible(" ".join(task.split()))
    return line if len(line) <= _TASK_CHARS else line[: _TASK_CHARS - 1] + "…"
