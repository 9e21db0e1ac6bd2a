"""Fixtures of the terminal view's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Shell
from tests.tui.tmux import Tmux, has_tmux

__all__ = ["Typed", "rawko", "tmux", "typed"]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, str]:
    """A folder with the demo's run, which has ended, and its id. For tests that change nothing."""
    shell = Shell(tmp_path_factory.mktemp("demo"))
    done = shell("run", "Write fizzbuzz", "--yes", "--scenario", "fizzbuzz", "--json", "--quiet")
    return shell, str(done.report["run"])


@pytest.fixture
def tmux(rawko: Shell, tmp_path: Path) -> Iterator[Tmux]:
    """A shell in tmux, in the project's folder."""
    if not has_tmux():
        pytest.skip("needs tmux")
    with Tmux(rawko, tmp_path / "tmux.sock") as found:
        yield found
