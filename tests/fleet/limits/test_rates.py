"""A rate per minute: no 60 seconds hold more than the limit, in order, and what was not used is given back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rawko.fleet.limits.rates import corrected, reserve

START = 1_700_000_000_000
LIMITS = st.integers(1, 200)
PAUSES = st.lists(st.integers(0, 20_000), min_size=1, max_size=300)


@given(LIMITS, PAUSES)
def test_no_minute_holds_more_than_the_limit_and_the_order_stays(limit: int, pauses: list[int]) -> None:
    now, unused, passes = START, 0, []
    for pause in pauses:
        now += pause
        unused, wait = reserve(unused, limit, now, 1)
        passes.append(now + wait)
    assert all(one <= other for one, other in pairwise(passes))
    for number, first in enumerate(passes):
        within = [one for one in passes[number:] if one < first + 60_000]
        assert len(within) <= limit


@given(LIMITS, st.lists(st.integers(1, 50), min_size=1, max_size=100))
def test_weights_pass_the_limit_by_one_call_at_most(limit: int, weights: list[int]) -> None:
    unused, passes = 0, []
    for weight in weights:
        unused, wait = reserve(unused, limit, START, weight)
        passes.append((START + wait, weight))
    for number, (first, _) in enumerate(passes):
        within = [weight for at, weight in passes[number:] if at < first + 60_000]
        assert sum(within) - max(within) <= limit


@given(LIMITS, st.integers(1, 1000), st.integers(0, 1000))
def test_what_was_not_used_is_given_back(limit: int, reserved: int, used: int) -> None:
    reserved_until, _ = reserve(0, limit, START, reserved)
    really, _ = reserve(0, limit, START, max(used, 1))
    assert corrected(reserved_until, limit, max(used, 1) - reserved) == really


def test_a_limit_that_rests_lets_a_twelfth_pass_at_once() -> None:
    unused, waits = 0, []
    for _ in range(8):
        unused, wait = reserve(unused, 60, START, 1)
        waits.append(wait)
    assert waits[:5] == [0] * 5
    assert waits[5] > 900
