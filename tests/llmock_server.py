"""llmock's server as a fixture: a provider on loopback that answers by script. Import it into a conftest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llmock.testing import LLMockServer


@pytest.fixture(scope="module")
def llmock_server() -> Iterator[LLMockServer]:
    """llmock's server for one module, not for the session: its thread draws from `random` on every tick, which
    hypothesis, watching that module, takes for a defect of whichever property runs meanwhile."""
    with LLMockServer() as server:
        yield server
