"""The input of one question, the delay before a retry, and the verdict. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.agent_loop.backoff import backoff_ms
from rawko.machines.judge.context import JudgeContext
from rawko.machines.judge.rule import compared, decision
from rawko.vocabulary.errors import BACKOFF_CAP_MS

bindings = Bindings()
bindings.add("context", "JudgeContext", JudgeContext)


@bindings.input
def question_input(context: JudgeContext, event: Event) -> Any:
    """One question: all candidates that are compared, and its number, which determines their order."""
    return {
        "task": context.task,
        "criteria": context.criteria,
        "candidates": list(compared(context.candidates)),
        "model": context.model,
        "seed": context.seed,
        "number": len(context.answers),
    }


@bindings.delay
def retry_delay(context: JudgeContext, event: Event) -> int:
    """Milliseconds before the question is asked again, at least as long as the provider asked for (C-24)."""
    return backoff_ms(
        context.retries,
        base_ms=1_000,
        cap_ms=BACKOFF_CAP_MS,
        seed=context.seed,
        key=f"judge:{len(context.answers)}",
        retry_after_ms=context.retry_after_ms,
    )


@bindings.output
def verdict(context: JudgeContext, event: Event) -> Any:
    """The verdict: {winner, rule, is_agreed, votes, reasons, out, error, usage}.

    `rule` is one of `rule.Rule`; `votes` has the best candidate of each answer; `reasons` has a list per candidate,
    with one reason per answer; `out` has the candidates whose check failed while another's passed. Without a verdict,
    `winner` and `rule` are None and `error` says why.
    """
    found = None if context.error else decision(context.candidates, context.answers, context.seed)
    left = [one.name for one in compared(context.candidates)]
    votes = [answer.best for answer in context.answers]
    return {
        "winner": None if found is None else found.winner,
        "rule": None if found is None else found.rule,
        "is_agreed": len(set(votes)) <= 1,
        "votes": votes,
        "reasons": {name: [answer.reasons[name] for answer in context.answers] for name in left},
        "out": [one.name for one in context.candidates if one.name not in left],
        "error": context.error,
        "usage": context.usage,
    }
