"""The actors that check the evidence for a finished task. The rules about evidence (guards, actions) are elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from rawko.runtime.actor_kinds import ActorFailed, Scope
from rawko.runtime.ports import EvidenceGatherer, WorkspaceError
from rawko.vocabulary.errors import ErrorContext


async def check_evidence(
    gatherer: EvidenceGatherer | None, in_use: asyncio.Lock, input: Mapping[str, Any], scope: Scope
) -> dict[str, Any]:
    """Check each demand in the folder; returns `{evidence: [Evidence]}`.

    Args:
        gatherer: None: the run has no folder, and the actor fails.
        in_use: The lock of the folder; everything that works in the folder holds it.
        input: `{demands, known, snapshot}`; a check that a crash interrupted first resets the files to the snapshot.
    """
    gather = _there(gatherer)
    try:
        async with in_use:
            if scope.attempt > 1:
                await gather.set_back(input["snapshot"])
            return {"evidence": await gather(input["demands"], input["known"])}
    except WorkspaceError as error:
        raise _failed(error.message) from error


async def capture_delivery(gatherer: EvidenceGatherer | None, input: Mapping[str, Any]) -> dict[str, Any]:
    """Capture the files that are to be delivered; returns `{snapshot}`."""
    try:
        return {"snapshot": await _there(gatherer).delivery()}
    except WorkspaceError as error:
        raise _failed(error.message) from error


def _there(gatherer: EvidenceGatherer | None) -> EvidenceGatherer:
    if gatherer is None:
        raise _failed("there is no folder in which evidence could be looked for")
    return gatherer


def _failed(message: str) -> ActorFailed:
    return ActorFailed(ErrorContext(message=message, category="unknown", attempted="a look for evidence"))
