"""The delay before a turn is tried again: exponential, with jitter from the seed. Pure."""

from __future__ import annotations

import hashlib

from rawko.vocabulary.errors import RETRY_AFTER_CAP_MS

_STEPS = 2**32


def backoff_ms(
    retries: int, *, base_ms: int, cap_ms: int, seed: int | str, key: str = "", retry_after_ms: int | None = None
) -> int:
    """Milliseconds to wait before retry number `retries` (from 1).

    Half of the exponential delay is fixed. The other half is jitter, computed from `seed`, `key` and `retries`: a
    replay waits equally long, and runs side by side wait differently. The provider's `retry_after_ms` counts where it
    is longer, up to `RETRY_AFTER_CAP_MS`; `cap_ms` bounds only the exponential delay.

    Source: C-24, C-67.
    """
    exponent = min(max(retries, 1) - 1, 32)
    full = min(cap_ms, base_ms << exponent)
    own = full / 2 + full / 2 * _fraction(f"{seed}:{key}:{retries}")
    return max(round(own), min(retry_after_ms or 0, RETRY_AFTER_CAP_MS))


def _fraction(text: str) -> float:
    """A number in [0, 1) computed from the hash of the text."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") / _STEPS
