"""One node process with XState for all tests of a session; they are skipped with the reason where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.formats.xstate_node import NoXState, XStateNode, xstate_node


@pytest.fixture(scope="session")
def node() -> Iterator[XStateNode]:
    try:
        with xstate_node() as running:
            yield running
    except NoXState as error:
        pytest.skip(f"XState does not run here: {error}")
