"""Our toolbox keeps the port's contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rawko.app.lookups.running import RunningLookups
from rawko.runtime.ports import Toolbox
from rawko.testing.conformance.tools import TOOLBOX_CONTRACTS, Bench, Contract
from rawko.tools.commands.bash import BashSettings
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess


def make(
    root: Path, *, state_dir: Path, agents: Mapping[str, ToolAccess], rules: Sequence[str], assume_yes: bool
) -> Toolbox:
    settings = BashSettings(grace_ms=300)
    return build_toolbox(
        root,
        state_dir=state_dir,
        agents=agents,
        rules=rules,
        assume_yes=assume_yes,
        bash=settings,
        lookups=RunningLookups(tuple),
    )


@pytest.mark.parametrize("contract", TOOLBOX_CONTRACTS, ids=str)
async def test_contract(contract: Contract, tmp_path: Path) -> None:
    await contract.check(Bench(make, tmp_path))
