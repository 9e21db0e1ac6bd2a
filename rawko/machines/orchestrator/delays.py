"""How long the orchestrator waits before it asks the arbiter again after an error (C-24)."""

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
"""Where nothing outside has to recover, the wait only keeps a loop from spinning."""

bindings = Bindings()


@bindings.delay
def retry_delay(context: Record, event: Event) -> int:
    """Milliseconds until the arbiter is asked again: exponential in the failures in a row, jittered by the seed,
    never below what the provider asked for.

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
