"""The delay before the arbiter is asked again after an error (C-24)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import Record
from rawko.machines.agent_loop.backoff import backoff_ms
from rawko.vocabulary.errors import BACKOFF_CAP_MS

_BASE_MS: Final[Mapping[str, int]] = {"provider_error": 1_000, "timeout": 1_000}
_SHORT_BASE_MS: Final = 250
"""For errors without an outside cause that must recover: the delay only prevents a busy loop."""

bindings = Bindings()


@bindings.delay
def retry_delay(context: Record, event: Event) -> int:
    """Milliseconds until the arbiter is asked again: exponential in the failures in a row, with jitter from the seed,
    at least as long as the provider asked for.

    Source: C-24.
    """
    error = context.last_error
    asked_for = error.retry_after_ms if error is not None else None
    return backoff_ms(
        context.consecutive_failures,
        base_ms=_BASE_MS.get(error.category, _SHORT_BASE_MS) if error is not None else _SHORT_BASE_MS,
        cap_ms=BACKOFF_CAP_MS,
        seed=context.seed,
        key=str(context.total_failures),
        retry_after_ms=asked_for,
    )
