"""What a run that is not at work waits for, as its journal knows it: a person's answer, or a larger budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rawko.app.records.journal import nothing_left
from rawko.app.records.record import has_report
from rawko.app.run.follow_up import RecordedRun, last_snapshot

WAITING = "waiting"
OUT_OF_BUDGET = "out_of_budget"
"""States of the machines in which a run waits."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An open question; `kind` as of `rawko.runtime.ports.Question`, or "budget"."""

    kind: str
    text: str
    agent: str


async def open_question(run: RecordedRun) -> Asked | None:
    """The question that a run waits with; None where it does not wait. A crash while it waited changes nothing.

    Raises:
        ConfigError: Its journal cannot be read, or holds nothing of it any more.
    """
    snapshot = await last_snapshot(run)
    if snapshot is None and has_report(run.settings, run.id):
        raise nothing_left(run.settings, run.id)
    return None if snapshot is None else next(_questions(snapshot), None)


def _questions(snapshot: Mapping[str, Any]) -> Iterator[Asked]:
    context, configuration = snapshot["context"], snapshot["configuration"]
    question = context.get("question")
    if question is not None and not snapshot["done"] and {WAITING, OUT_OF_BUDGET} & set(configuration):
        yield Asked(question["kind"], question["text"], str(context.get("agent") or ""))
    elif OUT_OF_BUDGET in configuration:
        yield Asked("budget", "", "arbiter")
    for child in (snapshot.get("children") or {}).values():
        yield from _questions(child)
