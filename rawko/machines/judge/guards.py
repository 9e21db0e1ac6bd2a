"""Guards of the judge: pure conditions on context and event, one function per name in the chart."""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.judge.context import JudgeContext
from rawko.machines.judge.rule import decision
from rawko.vocabulary.errors import RETRYABLE_CODES

bindings = Bindings()


@bindings.guard
def is_decided(context: JudgeContext, event: Event) -> bool:
    """The checks or the answers so far determine the best candidate."""
    return decision(context.candidates, context.answers, context.seed) is not None


@bindings.guard
def is_error_code(context: JudgeContext, event: Event, *, code: str) -> bool:
    """The question failed with this code."""
    return bool(event.error.get("code") == code)


@bindings.guard
def is_retryable_error(context: JudgeContext, event: Event) -> bool:
    """The same question may succeed later."""
    return event.error.get("code") in RETRYABLE_CODES


@bindings.guard
def has_retries_left(context: JudgeContext, event: Event) -> bool:
    """The question may be asked again."""
    return context.retries < context.max_retries
