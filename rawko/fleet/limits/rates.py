"""A rate per minute as one number in the database: the GCRA algorithm of pyrate-limiter.

pyrate-limiter's own bucket for PostgreSQL writes a row for each token, under a lock of the table; the algorithm needs
only the time at which the rate would next be unused, so that is what is stored. A call that does not fit now reserves
its time at once and waits for it, so that calls of all workers pass in the order of their arrival.

    12 requests a minute: one every 5 s
    t = 0      1st: passes       unused again at 5
    t = 1      2nd: waits 4 s    10
    t = 2      3rd: waits 8 s    15
"""

from __future__ import annotations

from typing import Final

from pyrate_limiter import GCRA, Rate

_MINUTE_MS: Final = 60_000
_AT_ONCE: Final = 12
"""The part of a minute's units that may be used at once; any 60 s still contain no more than the limit."""


def reserve(unused_us: int, limit: int, now_ms: int, weight: int) -> tuple[int, int]:
    """Reserve `weight` units: returns when the rate is unused after them, and how long to wait, in ms.

    Args:
        unused_us: When the rate is unused without them, in microseconds since 1970; 0 if it has not been used.
        limit: Units in any minute, >= 1.
        weight: Units. Units beyond the part allowed at once are a debt: the call passes alone, and later calls wait
            longer.
    """
    rate = _rate(limit)
    at_once = min(weight, rate.burst)
    debt_us = (weight - at_once) * _unit_us(rate)
    state, decision = GCRA().step([rate], (unused_us,), now_ms, at_once)
    wait_ms = 0
    if not decision.allowed:
        wait_ms = decision.retry_after_ms or 0
        state, decision = GCRA().step([rate], (unused_us,), now_ms + wait_ms, at_once)
        assert decision.allowed, "a place that was computed is free"
    return int(state[0]) + debt_us, wait_ms


def corrected(unused_us: int, limit: int, weight: int) -> int:
    """When the rate is unused after `weight` units more (or, if negative, fewer) than were reserved."""
    return max(0, unused_us + weight * _unit_us(_rate(limit)))


def _rate(limit: int) -> Rate:
    burst = max(1, limit // _AT_ONCE)
    return Rate(limit - burst + 1, _MINUTE_MS, burst=burst)


def _unit_us(rate: Rate) -> int:
    return -(-_MINUTE_MS * 1000 // rate.limit)
