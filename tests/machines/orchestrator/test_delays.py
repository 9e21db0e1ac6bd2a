"""How long the orchestrator waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.interpreter.data.events import Event
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record
from rawko.machines.orchestrator.context import OrchestratorContext
from rawko.machines.orchestrator.delays import retry_delay
from rawko.vocabulary.errors import BACKOFF_CAP_MS as CAP_MS
from rawko.vocabulary.errors import RETRY_AFTER_CAP_MS


def waited(**fields: Any) -> int:
    state = freeze(OrchestratorContext.model_validate(fields).to_json())
    assert isinstance(state, Record)
    return retry_delay(state, Event("E"))


def error(category: str, retry_after_ms: int | None = None) -> dict[str, Any]:
    return {"message": "m", "category": category, "retry_after_ms": retry_after_ms}


@pytest.mark.parametrize(
    ("category", "failures", "lowest", "highest"),
    [
        ("provider_error", 1, 500, 1_000),
        ("provider_error", 2, 1_000, 2_000),
        ("timeout", 3, 2_000, 4_000),
        ("tool_failure", 1, 125, 250),
        ("unknown", 2, 250, 500),
        ("provider_error", 40, CAP_MS // 2, CAP_MS),
    ],
)
def test_the_wait_doubles_with_each_failure(category: str, failures: int, lowest: int, highest: int) -> None:
    """C-24."""
    for seed in range(20):
        assert lowest <= waited(last_error=error(category), consecutive_failures=failures, seed=seed) <= highest


@given(st.integers(), st.integers(0, 10_000), st.integers(0, 10_000))
def test_our_own_wait_never_exceeds_its_cap(seed: int, failures: int, total: int) -> None:
    fields = {"seed": seed, "consecutive_failures": failures, "total_failures": total}
    assert 0 < waited(last_error=error("provider_error"), **fields) <= CAP_MS


def test_the_jitter_comes_from_the_seed() -> None:
    """C-24, C-67: a replay waits as long; other seeds and other failures wait otherwise."""
    fields = {"last_error": error("provider_error"), "consecutive_failures": 3}
    assert waited(**fields, seed=1, total_failures=3) == waited(**fields, seed=1, total_failures=3)
    assert len({waited(**fields, seed=seed, total_failures=3) for seed in range(50)}) > 40
    assert len({waited(**fields, seed=1, total_failures=n) for n in range(50)}) > 40


@pytest.mark.parametrize(("asked", "lowest"), [(30_000, 30_000), (10**9, RETRY_AFTER_CAP_MS), (0, 500)])
def test_the_providers_wish_is_a_lower_bound(asked: int, lowest: int) -> None:
    """C-24."""
    found = waited(last_error=error("provider_error", asked), consecutive_failures=1)
    assert found == lowest if asked else found >= lowest


def test_without_an_error_it_is_short(context: Callable[..., Record]) -> None:
    assert retry_delay(context(), Event("E")) <= 250
