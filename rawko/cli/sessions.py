"""`runs`, `log`, `resume`, `answer`, `approve`, `deny`: runs that are there already."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict, replace
from datetime import datetime

from rawko.app import Run
from rawko.app.asking import Asked, open_question
from rawko.app.continuing import ENDED, is_parked
from rawko.app.history import steps_of
from rawko.app.mail import is_at_work, leave
from rawko.app.record import RunRecord, list_records, read_record
from rawko.cli.output import complain, visible
from rawko.cli.people import user
from rawko.cli.run import NO_BOUNDS, Bounds, current_folder, execute
from rawko.cli.summary import how_to_answer
from rawko.config import ConfigError, Flags, Settings, checked_headless, load_settings
from rawko.runtime.journal import StepRecord
from rawko.runtime.ports import Answer, Question
from rawko.vocabulary.documents import accepted

_SCOPES = ("once", "tool", "always")
_TASK_CHARS = 60
WORDS = ("clarify", "pause")
APPROVAL = ("approval",)
"""Kinds of questions: those that are answered in words, and those that want a yes or no."""


class _OneAnswer:
    """Somebody who has said one thing, and is not there for a second question."""

    def __init__(self, text: str) -> None:
        self._text: str | None = text

    async def ask(self, question: Question) -> Answer | None:
        text, self._text = self._text, None
        return None if text is None else Answer(text, who=user())


def resume_command(
    run: str,
    *,
    yes: bool,
    as_json: bool,
    quiet: bool,
    bounds: Bounds = NO_BOUNDS,
    max_iterations: int | None = None,
    headless: str | None = None,
) -> int:
    """Go on with a run that was interrupted, that waits, or that has reached a limit. Returns the exit code."""
    try:
        record = read_record(run, _settings(yes=yes))
        settings = _changed(record.settings, bounds, max_iterations, headless)
    except ConfigError as error:
        return complain(str(error))
    if record.outcome == "limit" and not is_parked(record):
        return execute(
            Run(settings, record.task, agent=record.agent, continues=record.run),
            as_json=as_json,
            quiet=quiet,
            is_headless=headless is not None,
        )
    if record.outcome in ENDED and not is_parked(record):
        return complain(
            f"run {run!r} has ended ({record.outcome}); go on from there with a new task: "
            f'rawko run "..." --continue {run}'
        )
    going = _taken_up(record, settings)
    return execute(going, as_json=as_json, quiet=quiet, is_headless=headless is not None)


def answer_command(run: str, text: str, kinds: tuple[str, ...], *, as_json: bool) -> int:
    """Answer the question of a run, which is of one of these kinds, and go on with it.

    A run that some process has at work right now gets the answer there.
    """
    if not text.strip():
        return complain("the answer is empty")
    try:
        record = read_record(run, _settings())
        going = _taken_up(record, record.settings)
        problem = _why_not(record, asyncio.run(open_question(going)), kinds)
        if problem is None and is_at_work(record.settings, run):
            leave(record.settings, run, "answer", who=user(), text=text)
            print(f"told the process that has run {run} at work")
            return 0
    except ConfigError as error:
        return complain(str(error))
    return complain(problem) if problem else execute(going, as_json=as_json, quiet=False, people=_OneAnswer(text))


def approve_command(run: str, scope: str, *, as_json: bool) -> int:
    """Say yes to the call that a run asks about."""
    if scope not in _SCOPES:
        return complain(f"--scope: {scope!r}{accepted(_SCOPES, found=scope)}")
    return answer_command(run, scope, APPROVAL, as_json=as_json)


def _settings(*, yes: bool = False) -> Settings:
    """Settings of the folder as it is now; what a run was started with comes from its record."""
    environ = {**os.environ, "RAWKO_PROVIDER": "anthropic"}
    return load_settings(current_folder(), Flags(assume_yes=yes), environ)


def _taken_up(record: RunRecord, settings: Settings) -> Run:
    return Run(settings, record.task, agent=record.agent, id=record.run, is_resumed=True, continues=record.continues)


def _changed(settings: Settings, bounds: Bounds, max_iterations: int | None, headless: str | None) -> Settings:
    """The settings that a run was started with, and what the command line changes of them.

    Raises:
        ConfigError: An option that cannot be used.
    """
    return replace(
        settings,
        budget=bounds.budget().over(settings.budget),
        max_iterations=max_iterations or settings.max_iterations,
        headless=settings.headless if headless is None else checked_headless("--headless", headless),
    )


def _why_not(record: RunRecord, asked: Asked | None, kinds: tuple[str, ...]) -> str | None:
    """Why an answer of these kinds cannot be given."""
    run = record.run
    if record.outcome in ENDED and not is_parked(record):
        return f"run {run!r} has ended ({record.outcome}); it asks nothing"
    if asked is None:
        return f"run {run!r} asks nothing; go on with: rawko resume {run}"
    if asked.kind not in kinds:
        return f"run {run!r} waits for something else: {visible(asked.text)}\n{how_to_answer(asked.kind, run)}"
    return None


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
