"""Runs of pytest inside these tests start with the two plugins that contracts need."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins of this project's own tests have no part in the inner runs, and would take most of their time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_bdd.plugin,rawko.testing.plugin")
