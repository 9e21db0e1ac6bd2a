"""The port through which a machine looks for evidence in the files that are to be delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class EvidenceGatherer(Protocol):
    """Looks for evidence in one folder. Demands and evidence are data (`rawko.vocabulary.evidence`)."""

    async def __call__(self, demands: Sequence[Any], known: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Evidence for each demand, in order; a check that is known to have passed on the same files is not run again.

        Raises:
            WorkspaceError: The folder cannot be captured or set back.
        """
        ...

    async def delivery(self) -> dict[str, Any]:
        """The files as they are now, as a Snapshot as data.

        Raises:
            WorkspaceError: The folder cannot be captured.
        """
        ...

    async def set_back(self, to: Mapping[str, Any] | None) -> None:
        """Bring the files back to a snapshot: what an interrupted check did is undone.

        Raises:
            WorkspaceError: The folder cannot be set back.
        """
        ...
