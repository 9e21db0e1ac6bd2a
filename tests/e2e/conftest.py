"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llmock.testing import LLMockServer

from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Shell
from tests.e2e.exploring import Here

__all__ = ["llmock_server", "rawko", "typed"]


@pytest.fixture(scope="module")
def llmock_server() -> Iterator[LLMockServer]:
    """llmock's server for one module, not for the session: its thread draws from `random` on every tick, which
    hypothesis, watching that module, takes for a defect of whichever property runs meanwhile."""
    with LLMockServer() as server:
        yield server


@pytest.fixture
def here(rawko: Shell, typed: Typed) -> Here:
    """`rawko` in this process, for explorations."""
    return Here(rawko, typed)
