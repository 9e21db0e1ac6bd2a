"""Counts of tokens, and their price."""

from __future__ import annotations

from rawko.vocabulary.base import Data


class Usage(Data):
    """Tokens of one or many model calls. All counts are tokens (C-34)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            calls=self.calls + other.calls,
        )

    @property
    def total_tokens(self) -> int:
        """Input and output tokens, cached or not."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class Price(Data):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0

    def cost_usd(self, usage: Usage) -> float:
        """The price of the usage, in US dollars."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / 1_000_000
