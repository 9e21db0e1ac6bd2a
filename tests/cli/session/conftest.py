"""Fixtures of the session's tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.tui.in_tmux.tmux import Tmux, has_tmux

Opened = Callable[..., Tmux]


@pytest.fixture
def opened(rawko: Shell, tmp_path: Path) -> Iterator[Opened]:
    """`opened(reply, ..., words=(...))`: a session with the developer, whose input line is there."""
    if not has_tmux():
        pytest.skip("needs tmux")
    found: list[Tmux] = []

    def open(*replies: Mapping[str, Any], words: tuple[str, ...] = (), width: int = 100, height: int = 40) -> Tmux:
        tmux = Tmux(rawko, tmp_path / "tmux.sock", width, height).__enter__()
        found.append(tmux)
        scenario = str(rawko.scenario(*replies))
        tmux.rawko("chat", "--agent", "developer", "--scenario", scenario, *words)
        until = time.monotonic() + 120
        while not tmux.screen.rstrip().rpartition("\n")[2].startswith("developer"):  # the toolbar
            assert time.monotonic() < until, tmux.screen
            time.sleep(0.1)
        return tmux

    yield open
    for tmux in found:
        tmux.__exit__(None, None, None)
