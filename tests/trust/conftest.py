"""Fixtures of the tests of trust."""

from __future__ import annotations

from tests.cli.conftest import rawko, typed

__all__ = ["rawko", "typed"]
