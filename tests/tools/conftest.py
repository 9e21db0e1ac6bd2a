"""A workspace, and a toolbox on it with short bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rawko.runtime.ports import Toolbox, ToolOutcome
from rawko.tools.commands.bash import BashSettings
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall

Use = Callable[..., Awaitable[ToolOutcome]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def toolbox(root: Path, state: Path) -> Toolbox:
    settings = BashSettings(
        default_timeout_ms=10_000, grace_ms=300, max_output_bytes=1_000_000, max_spool_bytes=3_000_000
    )
    return build_toolbox(
        root,
        state_dir=state,
        agents={"developer": ToolAccess(), "tester": ToolAccess()},
        assume_yes=True,
        bash=settings,
        search_timeout_ms=3_000,
        environ={"PATH": "/usr/local/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-secret", "AWS_SECRET": "s"},
    )


@pytest.fixture
def use(toolbox: Toolbox) -> Use:
    """Call a tool: `await use("read", file_path="a.py")`."""
    numbers = count(1)

    async def call(name: str, agent: str = "developer", **arguments: Any) -> ToolOutcome:
        return await toolbox.run(agent, ToolCall(id=f"c{next(numbers)}", name=name, input=arguments))

    return call
