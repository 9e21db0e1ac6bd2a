"""What a conversation has used so far: tokens, cost, and how full the model's window is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rawko.app.run.report import Report
from rawko.app.views.summary import RunView
from rawko.config import Settings
from rawko.providers.models import context_window
from rawko.runtime.inspection import InspectionEvent
from rawko.vocabulary.usage import Usage

Used = tuple[Usage, float | None]
"""Tokens, and what they cost in US dollars; None where no price is known."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What was used.

    Attributes:
        by_run: By the run's id; a run that goes on is counted once, with all that it has used.
        context_tokens: Of the latest turn of a model: what it was sent and what it said; 0 before the first.
        model: Whose turn that was.
    """

    by_run: Mapping[str, Used] = field(default_factory=dict)
    context_tokens: int = 0
    model: str = ""

    @classmethod
    def of(cls, runs: Iterable[RunView]) -> Spending:
        """What the runs of a conversation have used."""
        return cls({run.id: (run.usage, run.cost_usd) for run in runs})

    @property
    def usage(self) -> Usage:
        """All tokens."""
        return sum((usage for usage, _ in self.by_run.values()), Usage())

    @property
    def cost_usd(self) -> float | None:
        """Of all runs whose price is known; None where there is none."""
        known = [cost for _, cost in self.by_run.values() if cost is not None]
        return sum(known) if known else None

    def with_report(self, report: Report) -> Spending:
        """With what a run has used until its end."""
        return replace(self, by_run={**self.by_run, report.run: (report.usage, report.cost_usd)})

    def after(self, event: InspectionEvent) -> Spending:
        """After an event of a run's inspection stream."""
        if event["type"] != "emit" or event["event"] != "TURN_DONE":
            return self
        data = event["data"]
        tokens = Usage.model_validate(dict(data["usage"])).total_tokens
        return replace(self, context_tokens=tokens, model=str(data["model"]))

    def context_used(self, settings: Settings) -> float | None:
        """The part of the model's window that the latest turn has filled; None where one of them is not known."""
        window = settings.context_window or context_window(self.model)
        return self.context_tokens / window if window and self.context_tokens else None
