"""Fixtures of the terminal view's tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Shell
from tests.tui.in_tmux.tmux import Tmux, has_tmux
from tests.tui.screens import SCREENS, steady

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


@pytest.fixture
def same_screen() -> Callable[[str, str], None]:
    """Compares a screen with the stored one of a name; `RAWKO_WRITE_SCREENS=1 pytest tests/tui` stores it anew."""

    def compare(name: str, screen: str) -> None:
        path, found = SCREENS / f"{name}.txt", steady(screen)
        if os.environ.get("RAWKO_WRITE_SCREENS"):
            path.write_text(found, encoding="utf-8")
        assert found == path.read_text(encoding="utf-8"), f"{path.name}: RAWKO_WRITE_SCREENS=1 stores what is shown"

    return compare
