"""The laboratory at work: recorded decisions read, their questions built in all variants, asked, answers compared.

Everything is built before anything is asked, so that a template that does not fit is told at once, and so is what all
questions together may cost. Answers are kept in the store of the state folder as they come: a laboratory that was
killed, or that ran out of money, is begun again with the same words and asks only what it has not asked. Nothing of a
run, and no file of the workspace, is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rawko.app.answers.cache import CachedAnswers, open_cache
from rawko.app.lab.asked import Asked, counted_tokens, estimated_tokens
from rawko.app.lab.decisions import Decision, decisions_of, verdict_of
from rawko.app.lab.findings import Finding, findings_of
from rawko.app.lab.proposal import Proposal, propose, write
from rawko.app.lab.questions import Fit, RunQuestions
from rawko.app.lab.variants import UNCHANGED, Variant
from rawko.app.run.budget import Stopwatch, bounds_of, default_price, rate_limits, require_prices
from rawko.app.run.models.provider import open_provider
from rawko.app.time_travel.recorded_run import open_past
from rawko.config import ConfigError, Settings
from rawko.machines.orchestrator.asking import (
    MAX_ANSWER_TOKENS,
    MAX_REASKS,
    Question,
    ask,
)
from rawko.providers.metering.account import sent_tokens
from rawko.providers.metering.metered import MeteredProvider
from rawko.runtime.actor_kinds import ActorFailed
from rawko.vocabulary.errors import RETRY_AFTER_CAP_MS, RETRYABLE_CODES
from rawko.vocabulary.usage import Price, Usage

MAX_RETRIES: Final = 2
"""Further tries of a question after a failure that may pass."""
MOST_FAILURES: Final = 3
"""Failed questions in a row after which no more is asked."""
_OBJECTION_TOKENS: Final = 300
"""Of the words with which an answer is objected to, from above."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One question that is to be asked, or whose answer is known."""

    decision: Decision
    variant: Variant
    sample: int
    question: Question


@dataclass(slots=True)
class Laboratory:
    """Decisions of several runs, to be asked again.

    Attributes:
        decisions: Those that are asked; of more, `left_out` is the number.
        fits: How many questions came out as they were sent.
        unaffected: By variant, decisions whose question it does not change.
        asked: Answers so far. `failed`: questions without one, by variant; `problems`: what was said of these.
        stopped: Why not all was asked, in words; "" where it was.
        proposal: What follows for the agents' files, once everything was asked; `is_written`: they have it.
    """

    settings: Settings
    runs: tuple[str, ...]
    variants: tuple[Variant, ...]
    repeat: int = 1
    limit: int | None = None
    warn: Callable[[str], None] = field(default=lambda _: None)
    decisions: list[Decision] = field(default_factory=list)
    left_out: int = 0
    fits: dict[Fit, int] = field(default_factory=dict)
    unaffected: dict[Variant, int] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    failed: dict[Variant, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    stopped: str = ""
    proposal: Proposal | None = None
    is_written: bool = False
    _planned: list[Planned] = field(default_factory=list)
    _in_a_row: int = 0

    async def prepare(self) -> None:
        """Read the runs and build all questions.

        Raises:
            ConfigError: A run that cannot be read or has no decisions, or a template that does not fit.
        """
        if not self.runs:
            raise ConfigError("no run is named; accepted: one run or more (see `rawko runs`)")
        for run in self.runs:
            await self._read(run)
        budget = self.settings.budget.cost_usd
        if budget is not None:
            require_prices(self.settings, {one.question.model for one in self._planned}, budget)

    async def _read(self, run: str) -> None:
        async with open_past(run, self.settings) as past:
            if past.record.report is None and not past.last:
                raise ConfigError(f"run {run!r} has no steps yet")
            questions, count = RunQuestions(past.record, self.settings), 0
            async for decision in decisions_of(past):
                count += 1
                if self.limit is not None and len(self.decisions) >= self.limit:
                    self.left_out += 1
                    continue
                fit = questions.fit(decision)
                self.fits[fit] = self.fits.get(fit, 0) + 1
                self.decisions.append(decision)
                self._planned += self._plan(questions, decision)
        if not count:
            raise ConfigError(f"run {run!r} has no decisions of an arbiter: it ended before the first one")

    def _plan(self, questions: RunQuestions, decision: Decision) -> Iterator[Planned]:
        unchanged = questions.question(decision, UNCHANGED)
        for variant in (UNCHANGED, *self.variants):
            question = questions.question(decision, variant)
            if variant is not UNCHANGED and question.key() == unchanged.key():
                self.unaffected[variant] = self.unaffected.get(variant, 0) + 1
                continue
            for sample in range(1, self.repeat + 1):
                yield Planned(decision, variant, sample, question)

    # ------------------------------------------------------------ before it begins

    def open_questions(self) -> tuple[int, int]:
        """How many questions there are, and of how many the answer is known."""
        cache = self._cache()
        known = sum(cache.answer(one.question, one.sample) is not None for one in self._planned)
        return len(self._planned), known

    def worst_case_usd(self) -> float | None:
        """What the questions without an answer may cost at most, each answered as long as it can be and objected to as
        often as it can be; None where a model has no price."""
        cache, cost = self._cache(), 0.0
        for one in self._planned:
            if cache.answer(one.question, one.sample) is not None:
                continue
            price = self._price(one.question.model)
            if price is None:
                return None
            cost += price.cost_usd(_most(one.question))
        return cost

    def _price(self, model: str) -> Price | None:
        return self.settings.prices.get(model) or default_price(self.settings)

    def _cache(self) -> CachedAnswers:
        return open_cache(self.settings, self.warn)

    # ------------------------------------------------------------ asking

    async def work(self, tell: Callable[[int, int], None] = lambda done, count: None) -> None:
        """Ask everything that is not known, until the end, the end of the budget, or failures one after the other.

        Args:
            tell: Told of each answer: how many there are, of how many.

        Raises:
            ConfigError: There is no model to ask.
        """
        cache, watch = self._cache(), Stopwatch()
        watch.start()
        meter: MeteredProvider | None = None
        try:
            for number, one in enumerate(self._planned, 1):
                known = cache.answer(one.question, one.sample)
                if known is not None:
                    self._take(one, known.decision.to_json(), counted_tokens(known), 0.0, is_known=True)
                else:
                    if meter is None:
                        meter = self._meter(watch)
                    await self._ask(one, meter, cache)
                tell(number, len(self._planned))
                if self.stopped:
                    return
        finally:
            if meter is not None:
                await meter.aclose()

    def _meter(self, watch: Stopwatch) -> MeteredProvider:
        bounds = bounds_of(self.settings, watch)
        pace = rate_limits(self.settings, watch, None, lambda what, wait_s, limit: self.warn(f"waiting: {limit}"))
        return MeteredProvider(open_provider(self.settings), bounds=bounds, pace=pace["calls"])

    async def _ask(self, one: Planned, meter: MeteredProvider, cache: CachedAnswers) -> None:
        for number in range(MAX_RETRIES + 1):
            try:
                answered = await ask(meter, one.question)
            except ActorFailed as error:
                if error.error.get("code") in RETRYABLE_CODES and number < MAX_RETRIES:
                    after = error.error.get("retry_after_ms") or 1000 * 2**number
                    await asyncio.sleep(min(after, RETRY_AFTER_CAP_MS) / 1000)
                    continue
                self._fail(one, error)
                return
            cache.keep(one.question, answered, one.sample, one.decision.run)
            self._in_a_row = 0
            told = answered.decision.to_json()
            self._take(one, told, counted_tokens(answered), self._cost(one.question, answered.usage))
            return

    def _take(
        self, one: Planned, decision: dict[str, Any], counted: int, cost: float | None, *, is_known: bool = False
    ) -> None:
        verdict = verdict_of(decision, one.decision.previous)
        estimated = estimated_tokens(one.question)
        self.asked.append(
            Asked(one.decision, one.variant, one.sample, verdict, counted, estimated, cost, is_known=is_known)
        )

    def _fail(self, one: Planned, error: ActorFailed) -> None:
        """Note a question without an answer: an answer that is no decision counts as one that disagrees."""
        code, message = error.error.get("code"), str(error)
        if error.error.get("category") == "validation_error":
            usage, estimated = Usage.model_validate(error.error["usage"]), estimated_tokens(one.question)
            cost = self._cost(one.question, usage)
            self.asked.append(Asked(one.decision, one.variant, one.sample, None, 0, estimated, cost, problem=message))
            self._in_a_row = 0
            return
        if code == "budget":
            self.stopped = message
            return
        self.failed[one.variant] = self.failed.get(one.variant, 0) + 1
        if message not in self.problems:
            self.problems.append(message)
        self._in_a_row += 1
        # A script, or a recording, that lacks one answer may have the next; a server that cannot be asked has none.
        if code != "scenario" and self._in_a_row >= MOST_FAILURES:
            self.stopped = f"{self._in_a_row} questions in a row have failed: {message}"

    def _cost(self, question: Question, usage: Usage) -> float | None:
        price = self._price(question.model)
        return None if price is None else price.cost_usd(usage)

    # ------------------------------------------------------------ what was found

    def findings(self) -> tuple[Finding, ...]:
        """What was found so far, the unchanged questions first."""
        return findings_of(self.variants, self.asked, self.unaffected, self.failed)

    def conclude(self, *, is_written: bool) -> None:
        """Make the proposal.

        Args:
            is_written: Write it into the agents' files, too.

        Raises:
            ConfigError: An agent's file cannot be read or written.
        """
        is_whole = not self.stopped and not self.left and not self.failed
        self.proposal = propose(self.findings(), self.settings, is_whole=is_whole)
        if is_written and self.proposal.changes:
            write(self.proposal, self.settings)
            self.is_written = True

    @property
    def known(self) -> int:
        """Answers that were kept from an earlier time."""
        return sum(one.is_known for one in self.asked)

    @property
    def cost_usd(self) -> float | None:
        """Of this time; None where a model has no price."""
        costs = [one.cost_usd for one in self.asked]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def left(self) -> int:
        """Questions that were not asked."""
        return len(self._planned) - len(self.asked) - sum(self.failed.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": list(self.runs),
            "decisions": len(self.decisions),
            "left_out": self.left_out,
            "inputs": {fit: self.fits.get(fit, 0) for fit in ("exact", "changed", "unknown")},
            "variants": [finding.to_json() for finding in self.findings()],
            "answers": [one.to_json() for one in self.asked],
            "cache": {"answers": len(self.asked), "hits": self.known},
            "cost_usd": self.cost_usd,
            "problems": list(self.problems),
            "stopped": self.stopped or None,
            "left": self.left,
            "proposal": None if self.proposal is None else {**self.proposal.to_json(), "is_written": self.is_written},
        }


def _most(question: Question) -> Usage:
    """The most that a question may use: each answer is as long as it can be, and is objected to."""
    sent, answers = sent_tokens(question.request()), 1 + MAX_REASKS
    more = sum(number * (MAX_ANSWER_TOKENS + _OBJECTION_TOKENS) for number in range(answers))
    return Usage(input_tokens=sent * answers + more, output_tokens=MAX_ANSWER_TOKENS * answers)
