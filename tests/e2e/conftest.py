"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Shell
from tests.e2e.exploration.exploring import Here
from tests.llmock_server import llmock_server

__all__ = ["llmock_server", "rawko", "typed"]


@pytest.fixture
def here(rawko: Shell, typed: Typed) -> Here:
    """`rawko` in this process, for explorations."""
    return Here(rawko, typed)
