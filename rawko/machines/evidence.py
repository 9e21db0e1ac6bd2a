"""The actors by which machines look for evidence before they let a task be complete. All else about it is pure."""

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
    """Evidence for each demand: {evidence: [Evidence]}.

    Args:
        gatherer: None: there is nowhere to look, and looking fails.
        in_use: Held while the folder is looked at, by whatever works in it.
        input: {demands, known, snapshot}: a look that a crash interrupted begins again on the files of the snapshot.
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
    """The files that are to be delivered, as a snapshot: {snapshot}."""
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
