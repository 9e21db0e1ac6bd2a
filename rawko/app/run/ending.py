"""The end of a run: its parts closed in time, its report kept, and what the report notes of how to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from rawko.app.records.record import has_record
from rawko.app.records.record_changes import write_report
from rawko.app.run.driving.driver import Driver
from rawko.app.run.driving.questions import OUT_OF_BUDGET
from rawko.app.run.report import Report, verdict_of
from rawko.config import ConfigError, Settings
from rawko.runtime.actor import Actor
from rawko.runtime.errors import JournalError
from rawko.runtime.ports import Provider
from rawko.runtime.shortage import shortage_of
from rawko.vocabulary.usage import Usage

CLEANUP_DEADLINE_S: Final = 5.0
"""How long a provider, a toolbox or a workspace may take to close before the run is reported done (C-30)."""


async def close_in_time(close: Callable[[], Awaitable[None]], what: str) -> tuple[str, ...]:
    """Close a part within the deadline; a failure is a note for the report and never masks the verdict (C-30)."""
    try:
        async with asyncio.timeout(CLEANUP_DEADLINE_S):
            await close()
    except Exception as error:  # noqa: BLE001 - whatever an adapter raises while closing
        return (f"closing the {what} failed: {str(error) or type(error).__name__}",)
    return ()


def breakdown(error: BaseException | None) -> str | None:
    """Why a machine had to stop where it stood, if nothing of its own is at fault: its journal, or what has run out."""
    is_one = isinstance(error, JournalError) or (error is not None and shortage_of(error, is_own=True) is not None)
    return str(error) if is_one else None


def how_to_go_on(settings: Settings, run: str) -> str:
    """What a person does next with a run that had to stop."""
    if not has_record(settings, run):
        return f"the state folder {str(settings.state_dir)!r} is gone, and the run with it"
    return f"nothing that was done is lost; when that is mended, go on with: rawko resume {run}"


def unused_replies(actor: Actor, provider: Provider, settings: Settings) -> tuple[str, ...]:
    """A note of what a scenario or a cassette still holds after the machine's end."""
    unused = getattr(provider, "unused", None)
    if actor.interpreter.final and unused is not None and (left := unused()):
        what = "cassette" if settings.provider == "cassette" else "scenario"
        return (f"the {what} has {len(left)} replies that nobody asked for, the first: {left[0]}",)
    return ()


def kept(report: Report, settings: Settings) -> Report:
    """The report, once it is on disk; one that cannot be written is still shown."""
    run = report.run
    try:
        write_report(settings, run, report.to_json())
    except ConfigError as error:
        note = f"the run has ended, but its report is not kept: {error}; once that is mended: rawko resume {run}"
        error_told = {"category": "unknown", "message": f"the report cannot be kept: {error}"}
        return replace(report, outcome="interrupted", error=error_told, notes=(*report.notes, note))
    return report


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used: tokens, US dollars (None: unknown), and milliseconds by the clock."""

    usage: Usage
    cost_usd: float | None
    duration_ms: int


def ended(
    settings: Settings,
    run: str,
    driver: Driver,
    actor: Actor,
    spent: Spent,
    changes: tuple[tuple[str, ...], str],
    notes: list[str],
) -> Report:
    """The report of a machine that has stopped; kept on disk, unless the run can go on from where it stands.

    Args:
        changes: Files that the run has changed, and their differences.
        notes: Of the run so far; one is added where it can go on.
    """
    problem = driver.halted or breakdown(actor.error)
    if problem is not None:  # what was committed stands: it can go on from there
        notes.append(how_to_go_on(settings, run))
    verdict = verdict_of(actor, question=driver.question, is_cancelled=driver.is_cancelled, problem=problem)
    if problem is not None and not has_record(settings, run):
        verdict = replace(verdict, outcome="failure")  # there is nothing left to go on with
    is_open = verdict.outcome == "limit" and not actor.interpreter.final
    is_below = is_open and OUT_OF_BUDGET not in actor.configuration  # an agent or a lane of the run waits
    question = driver.question if verdict.outcome == "needs_person" or is_below else None
    files, diff = changes
    report = verdict.report(
        run,
        spent.usage,
        spent.cost_usd,
        files,
        diff,
        question=question,
        duration_ms=spent.duration_ms,
        notes=tuple(notes),
    )
    return report if problem is not None else kept(report, settings)
