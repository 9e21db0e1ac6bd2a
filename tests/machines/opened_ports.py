"""A rig: the real ports of the agent loop on a new workspace; only the model's replies are scripted.

    async with opened_ports(tmp_path, ScriptedProvider(scenario), AGENTS, people) as ports:
        ...

The toolbox is closed, the workspace and the provider are released at the end, whatever the test has done.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rawko.machines.agent_loop.actors import PLACEHOLDERS, AgentLoopPorts
from rawko.machines.prompts.prompts import Prompts
from rawko.providers.scripted.provider import ScriptedProvider
from rawko.runtime.ports import People
from rawko.tools.commands.bash import BashSettings
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import AgentConfig
from rawko.workspace import SnapshotWorkspace


@asynccontextmanager
async def opened_ports(
    base: Path,
    provider: ScriptedProvider,
    agents: Mapping[str, AgentConfig],
    people: People,
    *,
    assume_yes: bool = True,
    rules: Sequence[str] = (),
    **more: Any,
) -> AsyncIterator[AgentLoopPorts]:
    """Ports on `base/workspace`, which is made, with their state in `base/state`.

    Args:
        more: Further fields of `AgentLoopPorts`.
    """
    root, state = base / "workspace", base / "state"
    root.mkdir()
    ports = AgentLoopPorts(
        provider=provider,
        toolbox=build_toolbox(
            root,
            state_dir=state,
            agents={name: agent.tools for name, agent in agents.items()},
            assume_yes=assume_yes,
            bash=BashSettings(default_timeout_ms=20_000, grace_ms=200),
            environ={"PATH": os.environ["PATH"]},
            rules=rules,
        ),
        workspace=await SnapshotWorkspace.open(root, state, run="r1"),
        people=people,
        prompts=Prompts.load("agent_loop", PLACEHOLDERS),
        agents=agents,
        model="m-default",
        **more,
    )
    try:
        yield ports
    finally:
        await ports.toolbox.aclose()
        await ports.workspace.aclose()
        await ports.provider.aclose()
